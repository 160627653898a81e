#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/numbers/random.hpp"

namespace dpmpi::public_counter_test {
namespace {

constexpr std::uint64_t seed = 0x0123456789abcdef;

PublicCounter with_key(std::uint32_t low, std::uint32_t high) { return {std::uint64_t{high} << 32 | low, 0}; }

// Known answers of Random123's kat_vectors for philox4x32 with 10 rounds.
TEST(PublicCounter, IsPhilox) {
  using Block = PublicCounter::Block;
  EXPECT_EQ(with_key(0, 0).block({0, 0, 0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(with_key(~0U, ~0U).block({~0U, ~0U, ~0U, ~0U}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(with_key(0xa4093822, 0x299f31d0).block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PublicCounter, TagChangesTheHighWordOfTheKey) {
  EXPECT_EQ(PublicCounter(0x0000000500000007, 3).block({1, 2, 3, 4}), with_key(7, 6).block({1, 2, 3, 4}));
}

TEST(PublicCounter, UniformsAndNormalsHaveTheirPublishedValues) {
  const PublicCounter positions(seed, 2);
  const double expected[] = {0.709734146798, 0.823540623121, 0.838257464795};
  for (std::uint32_t step = 0; step < 3; ++step)
    EXPECT_NEAR(positions.uniform({0, 0, 0, step}), expected[step], 1e-12);

  std::vector<double> normals(4);
  PublicCounter(seed, 1).normals({.blocks = 1, .rows = 1}, normals);
  const double first[] = {-0.338985248, 0.186905817, -0.131588730, 1.463686110};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(normals[k], first[k], 1e-9);
}

/// The normals of one block by the definition, with the C library's functions.
std::array<double, 4> reference_normals(const PublicCounter::Block& o) {
  const auto uniform = [&](std::size_t w) { return std::ldexp(static_cast<double>(o[w]) + 0.5, -32); };
  std::array<double, 4> out{};
  for (std::size_t pair = 0; pair < 4; pair += 2) {
    const double radius = std::sqrt(-2 * std::log(uniform(pair))), angle = 2 * M_PI * uniform(pair + 1);
    out[pair] = radius * std::cos(angle);
    out[pair + 1] = radius * std::sin(angle);
  }
  return out;
}

// Every grid, also those that end inside a batch of lanes: rows come after one another, blocks ascend in a row.
TEST(PublicCounter, GridsGiveEachBlockItsNormals) {
  const PublicCounter stream(seed, 1);
  for (const PublicCounter::Grid& grid :
       {PublicCounter::Grid{.blocks = 1, .first_row = 7, .rows = 130, .c2 = 2, .c3 = 3},
        {.blocks = 3, .first_row = 0, .rows = 50, .c2 = ~0U, .c3 = 1},
        {.blocks = 201, .first_row = 5, .rows = 2, .c2 = 0, .c3 = ~0U}}) {
    std::vector<double> normals(std::size_t{4} * grid.blocks * grid.rows);
    stream.normals(grid, normals);
    std::size_t next = 0;
    for (std::uint32_t row = 0; row < grid.rows; ++row)
      for (std::uint32_t q = 0; q < grid.blocks; ++q)
        for (const double expected : reference_normals(stream.block({q, grid.first_row + row, grid.c2, grid.c3})))
          ASSERT_NEAR(normals[next++], expected, 1e-8) << "row " << row << ", block " << q;
  }
}

}  // namespace
}  // namespace dpmpi::public_counter_test
