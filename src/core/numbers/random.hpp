#pragma once
// Two kinds of randomness that do not mix (numerics contract N5, N6): secret bits decide privacy (noise, Poisson
// selection) and come from ChaCha20 under a key of the operating system; public bits (initialisation, directions,
// shuffles, output index) come from Philox under a seed that anybody may know.
// Both are counter-based: any word of any step can be drawn again, in any order, on any rank.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/numbers/chacha20.hpp"

namespace dpmpi {

/// A 256-bit key. Wiped when destroyed; never printed. Lies in pages that no core dump holds and, where the limit
/// of locked memory allows, that are never swapped out.
class SecretKey {
 public:
  static SecretKey from_system();                  ///< getrandom(2)
  static SecretKey from_seed(std::uint64_t seed);  ///< for tests: the run's certificate says epsilon = infinity
  static SecretKey from_bytes(std::span<const std::uint8_t, 32> bytes);
  SecretKey(const SecretKey& other);
  SecretKey& operator=(const SecretKey& other);
  ~SecretKey() = default;

  /// An independent key for one purpose: HMAC-SHA256(key, purpose || index).
  SecretKey derive(std::string_view purpose, std::uint64_t index = 0) const;
  /// HMAC-SHA256 of a message under this key, as 64 hex digits (keyed commitment).
  std::string authenticate(std::string_view message) const;
  std::span<const std::uint8_t, 32> bytes() const { return std::span<const std::uint8_t, 32>(bytes_.get(), 32); }

 private:
  struct Wipe {
    void operator()(std::uint8_t* bytes) const;
  };
  SecretKey();  // all zeros
  std::unique_ptr<std::uint8_t[], Wipe> bytes_;
};

/// SecretKey::authenticate of a message that is not in one piece.
class Authenticator {
 public:
  explicit Authenticator(const SecretKey& key);
  ~Authenticator();
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;
  void update(std::string_view bytes);
  std::string hex();  ///< ends the message

 private:
  void* context_;
};

/// The ChaCha20 keystream of a key, addressed by (step, site, word).
class SecretStream {
 public:
  explicit SecretStream(const SecretKey& key);

  /// out[i] = 64-bit word first + i of (step, site); `first` is a multiple of 8 (one cipher block).
  void words(std::uint64_t step, std::uint32_t site, std::uint64_t first, std::span<std::uint64_t> out);
  /// Standard normals number first + i of (step, site); `first` is a multiple of 8, site < finer_site.
  void normals(std::uint64_t step, std::uint32_t site, std::uint64_t first, std::span<double> out);

  /// The finer bits of normals' word i of (step, site) are word i of (step, finer_site + site).
  static constexpr std::uint32_t finer_site = std::uint32_t{1} << 31;

 private:
  std::uint64_t word(std::uint64_t step, std::uint32_t site, std::uint64_t i);

  ChaCha20 cipher_;
};

/// The Philox4x32-10 stream of (seed, purpose, step), addressed by word. Copyable; holds no state.
class PublicStream {
 public:
  PublicStream(std::uint64_t seed, std::string_view purpose, std::uint64_t step = 0);
  void words(std::uint64_t first, std::span<std::uint64_t> out) const;  ///< `first` even
  std::uint64_t word(std::uint64_t i) const;
  double uniform(std::uint64_t i) const;                           ///< in (0, 1)
  std::uint64_t below(std::uint64_t i, std::uint64_t n) const;     ///< uniform on 0..n-1 (n > 0), bias < 2^-64 n
  void normals(std::uint64_t first, std::span<double> out) const;  ///< `first` even
  void normals(std::uint64_t first, std::span<float> out) const;
  std::vector<std::uint32_t> permutation(std::uint32_t n) const;

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 2> high_;  // upper half of the counter: purpose and step
};

/// Public bits addressed by the whole 128-bit counter of Philox4x32-10 under the key (low word of the seed, high
/// word xor tag), for streams whose layout is part of a method: directions by (block, direction, slot, step).
/// Copyable; holds no state.
class PublicCounter {
 public:
  using Block = std::array<std::uint32_t, 4>;
  /// Counters (q, row, c2, c3) for q < blocks and first_row <= row < first_row + rows: row after row.
  struct Grid {
    std::uint32_t blocks = 0, first_row = 0, rows = 0, c2 = 0, c3 = 0;
  };

  PublicCounter(std::uint64_t seed, std::uint32_t tag)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32) ^ tag} {}
  Block block(const Block& counter) const;
  double uniform(const Block& counter) const;  ///< multiple of 2^-53 in [0, 1), from the first two words
  /// Four standard normals a block (grid.rows * grid.blocks * 4 values), by Box-Muller from 32-bit uniforms
  /// (o + 1/2) 2^-32: words 0 and 1 give the first two, words 2 and 3 the others. They reach 6.7 sigma.
  void normals(const Grid& grid, std::span<double> out) const;

 private:
  std::array<std::uint32_t, 2> key_;
};

/// Sequential reader of the secret words of (step, site), from the first: for samplers that use a varying number of
/// them. What it reads is a function of (key, step, site) alone, and readers of different steps or sites never
/// meet: the pair is the cipher's nonce, and a reader that comes to the end of the block counter (2^35 words)
/// throws.
class SecretReader {
 public:
  SecretReader(SecretStream& stream, std::uint64_t step, std::uint32_t site)
      : stream_(stream), step_(step), site_(site) {}
  SecretReader(const SecretReader&) = delete;
  SecretReader& operator=(const SecretReader&) = delete;
  ~SecretReader();  ///< wipes the words
  std::uint64_t next();
  std::uint64_t below(std::uint64_t n);  ///< exactly uniform on 0..n-1 (rejection)
  /// The next 64 words at once (only where all words before were read by this function).
  std::span<const std::uint64_t, 64> next_block();

 private:
  SecretStream& stream_;
  std::uint64_t step_, position_ = 0;
  std::uint32_t site_;
  std::array<std::uint64_t, 64> buffer_{};
};

/// 64 further bits for the word at a position.
using FinerBits = std::function<std::uint64_t(std::size_t)>;

/// Box-Muller on 64-bit words, pairwise: words (2i, 2i+1) give normals (2i, 2i+1). words.size() is even.
/// Only + - * / and sqrt, never contracted: the same bits on every machine.
/// The radius is that of a uniform number of 64 bits, and of 128 where word 2i lies within 2^48 of 0 or of 2^64
/// (once in 2^15 pairs): then `finer(2i)` gives the others. So a pair at radius R is within 2^-49 R of what exact
/// arithmetic makes of its words, and within 2^-54 / R more for 2^-8 < R. Without `finer`, for numbers that
/// everybody may know, the reach is 9.4 instead of 13.3, and next to 0 and in the tail there are radii that no word
/// gives.
void box_muller(std::span<const std::uint64_t> words, std::span<double> out, const FinerBits& finer = {});

/// Up to this radius SecretStream::normals gives every pair of lattice points of a quantum of 2^-36 or more, each
/// with its probability to 1 % (docs/theory/noise.md). A pair is farther out with probability exp(-R^2 / 2)
/// = 1.2e-24.
constexpr double resolved_radius = 10.5;

/// A draw in quanta, to the nearest point, halves upwards: each point gets the doubles of a half-open interval.
/// With halves to even, even points of the finest lattice would come some 2^-15 more often than odd ones.
/// This is floor(quanta + 1/2), written so that loops become vector code (g++ 12 has none for that).
inline std::int64_t nearest_point(double quanta) {
  const double above = quanta + 0.5;
  const auto whole = static_cast<std::int64_t>(above);  // towards 0
  return whole - static_cast<std::int64_t>(static_cast<double>(whole) > above);
}

/// Natural logarithm by the same arithmetic (x > 0, finite), for samplers whose bits must not depend on the C
/// library.
double portable_log(double x);
/// out[i] = ln((words[i] + 1/2) 2^-64): the logarithm of a uniform number, many at a time.
void log_uniform(std::span<const std::uint64_t> words, std::span<double> out);
/// cos(pi x) for x in [0, 1], likewise.
double portable_cos_pi(double x);

}  // namespace dpmpi
