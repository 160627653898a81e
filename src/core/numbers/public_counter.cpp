#include <algorithm>
#include <cstddef>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"

namespace dpmpi {
namespace {

// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011) on many
// counters at once: written over lanes, because that turns into vector code.
constexpr std::size_t counters_at_once = 64;

struct Counters {
  alignas(64) std::uint32_t word[4][counters_at_once];
};

void philox(Counters& c, std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t multiplier[2] = {0xD2511F53, 0xCD9E8D57};
  constexpr std::uint32_t weyl[2] = {0x9E3779B9, 0xBB67AE85};
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < counters_at_once; ++i) {
      const std::uint64_t even = multiplier[0] * c.word[0][i], odd = multiplier[1] * c.word[2][i];
      c.word[0][i] = static_cast<std::uint32_t>(odd >> 32) ^ c.word[1][i] ^ key[0];
      c.word[1][i] = static_cast<std::uint32_t>(odd);
      c.word[2][i] = static_cast<std::uint32_t>(even >> 32) ^ c.word[3][i] ^ key[1];
      c.word[3][i] = static_cast<std::uint32_t>(even);
    }
    key[0] += weyl[0];
    key[1] += weyl[1];
  }
}

}  // namespace

PublicCounter::Block PublicCounter::block(const Block& counter) const {
  Counters c{};
  for (std::size_t w = 0; w < 4; ++w) c.word[w][0] = counter[w];
  philox(c, key_);
  return {c.word[0][0], c.word[1][0], c.word[2][0], c.word[3][0]};
}

double PublicCounter::uniform(const Block& counter) const {
  const Block o = block(counter);
  return static_cast<double>((std::uint64_t{o[0]} << 32 | o[1]) >> 11) * 0x1p-53;
}

void PublicCounter::normals(const Grid& grid, std::span<double> out) const {
  const std::size_t blocks = std::size_t{grid.rows} * grid.blocks;
  verify(out.size() == 4 * blocks, "a block of the counter gives four normals");
  std::uint32_t q = 0, row = grid.first_row;
  Counters c;
  alignas(64) std::uint64_t bits[4 * counters_at_once];
  for (std::size_t first = 0; first < blocks; first += counters_at_once) {
    for (std::size_t i = 0; i < counters_at_once; ++i) {
      c.word[0][i] = q, c.word[1][i] = row, c.word[2][i] = grid.c2, c.word[3][i] = grid.c3;
      if (++q == grid.blocks) q = 0, ++row;
    }
    philox(c, key_);
    // (o + 1/2) 2^-32 as the 64-bit fraction that box_muller reads.
    for (std::size_t i = 0; i < counters_at_once; ++i)
      for (std::size_t w = 0; w < 4; ++w)
        bits[4 * i + w] = std::uint64_t{c.word[w][i]} << 32 | std::uint64_t{1} << 31;
    const std::size_t count = 4 * std::min(counters_at_once, blocks - first);
    box_muller(std::span(bits, count), out.subspan(4 * first, count));
  }
}

}  // namespace dpmpi
