#include "core/numbers/chacha20.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__AVX512F__) && __has_builtin(__builtin_shufflevector)
#define DPMPI_WIDE_CHACHA20
#else
#include <openssl/evp.h>
#endif

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "core/secrecy.hpp"

namespace dpmpi {

#ifdef DPMPI_WIDE_CHACHA20

namespace {

// One word of 16 blocks, and the 16 words of each of them.
using Lanes = std::uint32_t __attribute__((vector_size(64)));
using Pairs = std::uint64_t __attribute__((vector_size(64)));
constexpr std::size_t lanes = 16, words_at_once = lanes * 8;
using Blocks = std::array<Lanes, 16>;

template <int bits>
void turn(Lanes& x) {
  x = (x << bits) | (x >> (32 - bits));
}

inline void quarter_round(Blocks& x, std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
  x[a] += x[b], x[d] ^= x[a], turn<16>(x[d]);
  x[c] += x[d], x[b] ^= x[c], turn<12>(x[b]);
  x[a] += x[b], x[d] ^= x[a], turn<8>(x[d]);
  x[c] += x[d], x[b] ^= x[c], turn<7>(x[b]);
}

// Halves of the four lanes of both: low or high words of each lane, or of each pair of words.
template <int half>
Lanes interleave_words(Lanes x, Lanes y) {
  constexpr int h = 2 * half;
  return __builtin_shufflevector(x, y, h, h + 16, h + 1, h + 17, h + 4, h + 20, h + 5, h + 21, h + 8, h + 24, h + 9,
                                 h + 25, h + 12, h + 28, h + 13, h + 29);
}
template <int half>
Pairs interleave_pairs(Lanes x, Lanes y) {
  constexpr int h = half;
  return __builtin_shufflevector(reinterpret_cast<Pairs>(x), reinterpret_cast<Pairs>(y), h, h + 8, h + 2, h + 10,
                                 h + 4, h + 12, h + 6, h + 14);
}
// Lanes 0 and 2, or 1 and 3, of both.
template <int odd>
Pairs every_other_lane(Pairs x, Pairs y) {
  constexpr int o = 2 * odd;
  return __builtin_shufflevector(x, y, o, o + 1, o + 4, o + 5, o + 8, o + 9, o + 12, o + 13);
}

// Block after block, from word after word. `of[r][g]` has words 4 g .. 4 g + 3 of blocks r, 4 + r, 8 + r, 12 + r.
inline void store_blocks(const Blocks& x, std::uint64_t* out) {
  Pairs of[4][4];
#pragma GCC unroll 4
  for (std::size_t g = 0; g < 4; ++g) {
    const Lanes* const w = &x[4 * g];
    const Lanes low01 = interleave_words<0>(w[0], w[1]), high01 = interleave_words<1>(w[0], w[1]);
    const Lanes low23 = interleave_words<0>(w[2], w[3]), high23 = interleave_words<1>(w[2], w[3]);
    of[0][g] = interleave_pairs<0>(low01, low23), of[1][g] = interleave_pairs<1>(low01, low23);
    of[2][g] = interleave_pairs<0>(high01, high23), of[3][g] = interleave_pairs<1>(high01, high23);
  }
#pragma GCC unroll 4
  for (std::size_t r = 0; r < 4; ++r) {
    const Pairs even_low = every_other_lane<0>(of[r][0], of[r][1]),
                even_high = every_other_lane<0>(of[r][2], of[r][3]);
    const Pairs odd_low = every_other_lane<1>(of[r][0], of[r][1]),
                odd_high = every_other_lane<1>(of[r][2], of[r][3]);
    const auto store = [&](std::size_t l, Pairs block) {
      std::memcpy(out + 8 * (4 * l + r), &block, sizeof block);
    };
    store(0, every_other_lane<0>(even_low, even_high));
    store(1, every_other_lane<0>(odd_low, odd_high));
    store(2, every_other_lane<1>(even_low, even_high));
    store(3, every_other_lane<1>(odd_low, odd_high));
  }
}

// 16 `sets` blocks: two sets fill the registers, and each waits for its own results only. Loops are unrolled at
// every level of optimisation, or their indices would keep the words in memory.
template <std::size_t sets>
void write_blocks(const std::array<std::uint32_t, 16>& state, std::uint64_t* out) {
  constexpr Lanes count{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  std::array<Blocks, sets> x;
  const auto begin = [&](std::size_t s, std::size_t i) {
    const Lanes same = Lanes{} + state[i];
    return i == 12 ? same + count + static_cast<std::uint32_t>(lanes * s) : same;
  };
#pragma GCC unroll 2
  for (std::size_t s = 0; s < sets; ++s)
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) x[s][i] = begin(s, i);
  for (int round = 0; round < 20; round += 2) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i)
#pragma GCC unroll 2
      for (Blocks& b : x) quarter_round(b, i, i + 4, i + 8, i + 12);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i)
#pragma GCC unroll 2
      for (Blocks& b : x) quarter_round(b, i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12);
  }
#pragma GCC unroll 2
  for (std::size_t s = 0; s < sets; ++s) {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) x[s][i] += begin(s, i);
    store_blocks(x[s], out + words_at_once * s);
  }
}

}  // namespace

struct ChaCha20::Cipher {
  SecretKey key;  // in the memory that keys have
};

ChaCha20::ChaCha20(const SecretKey& key) : cipher_(new Cipher{key}) {}

void ChaCha20::keystream(std::uint64_t step, std::uint32_t site, std::uint32_t block,
                         std::span<std::uint64_t> out) {
  std::array<std::uint32_t, 16> state{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  std::memcpy(&state[4], cipher_->key.bytes().data(), cipher_->key.bytes().size());
  state[12] = block, state[13] = site;
  std::memcpy(&state[14], &step, sizeof step);
  while (out.size() >= 2 * words_at_once) {
    write_blocks<2>(state, out.data());
    out = out.subspan(2 * words_at_once), state[12] += 2 * lanes;
  }
  std::array<std::uint64_t, words_at_once> rest;
  for (; !out.empty(); state[12] += lanes) {
    write_blocks<1>(state, rest.data());
    const std::size_t wanted = std::min(out.size(), rest.size());
    std::copy_n(rest.begin(), wanted, out.begin());
    out = out.subspan(wanted);
    wipe(rest);
  }
  wipe(state);
}

#else

struct ChaCha20::Cipher {
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  Cipher() = default;
  ~Cipher() { EVP_CIPHER_CTX_free(context); }
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;
};

ChaCha20::ChaCha20(const SecretKey& key) : cipher_(new Cipher) {
  const std::array<unsigned char, 16> iv{};
  verify(cipher_->context &&
             EVP_EncryptInit_ex(cipher_->context, EVP_chacha20(), nullptr, key.bytes().data(), iv.data()) == 1,
         "ChaCha20 is not available");
}

void ChaCha20::keystream(std::uint64_t step, std::uint32_t site, std::uint32_t block,
                         std::span<std::uint64_t> out) {
  // RFC 8439 layout: 32-bit block counter, then the 96-bit nonce (site, step).
  std::array<unsigned char, 16> iv;
  std::memcpy(iv.data(), &block, 4);
  std::memcpy(iv.data() + 4, &site, 4);
  std::memcpy(iv.data() + 8, &step, 8);
  verify(EVP_EncryptInit_ex(cipher_->context, nullptr, nullptr, nullptr, iv.data()) == 1, "ChaCha20 failed");
  std::fill(out.begin(), out.end(), 0);
  constexpr std::size_t piece = std::size_t{1} << 20;  // words; EVP lengths are int
  for (std::size_t i = 0; i < out.size(); i += piece) {
    auto* bytes = reinterpret_cast<unsigned char*>(out.data() + i);
    int written = 0;
    const auto length = static_cast<int>(8 * std::min(piece, out.size() - i));
    verify(EVP_EncryptUpdate(cipher_->context, bytes, &written, bytes, length) == 1 && written == length,
           "ChaCha20 failed");
  }
}

#endif

ChaCha20::~ChaCha20() = default;
ChaCha20::ChaCha20(ChaCha20&&) noexcept = default;

}  // namespace dpmpi
