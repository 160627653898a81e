// The shuffle behind running sums: a permutation, balanced over the blocks, uniform for every record.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "data/records/sampling.hpp"

namespace dpmpi::shuffle_test {
namespace {

constexpr Shuffled seeded(std::uint64_t seed) { return {.seed = seed, .first = 1, .batch = 1}; }

BlockLayout even(std::uint64_t records, std::uint32_t blocks) { return {records, blocks, {}}; }

/// Which block the record of every slot is in.
std::vector<std::uint32_t> blocks_by_slot(const BlockLayout& layout, std::uint64_t seed) {
  const auto slots = shuffle_slots(seeded(seed), layout);
  std::vector<std::uint32_t> block(slots.size());
  for (std::uint32_t b = 0; b < layout.blocks; ++b)
    for (std::uint64_t i = layout.begin(b); i < layout.begin(b + 1); ++i) block[slots[i]] = b;
  return block;
}

/// Largest difference, over windows of `width` consecutive slots, between the slots whose blocks are in [low, high)
/// and their share of the records.
double imbalance(const BlockLayout& layout, std::uint64_t seed, std::uint32_t low, std::uint32_t high,
                 std::size_t width) {
  const auto block = blocks_by_slot(layout, seed);
  const double share =
      static_cast<double>(layout.begin(high) - layout.begin(low)) / static_cast<double>(layout.records);
  const auto inside = [&](std::size_t slot) { return block[slot] >= low && block[slot] < high ? 1.0 : 0.0; };
  double count = 0, worst = 0;
  for (std::size_t slot = 0; slot < block.size(); ++slot) {
    count += inside(slot);
    if (slot >= width) count -= inside(slot - width);
    if (slot + 1 >= width) worst = std::max(worst, std::abs(count - share * static_cast<double>(width)));
  }
  return worst;
}

TEST(Shuffle, GivesEverySlotToOneRecord) {
  for (const std::uint64_t records : {0, 1, 2, 3, 5, 16, 31, 64, 100, 257, 1000})
    for (const std::uint32_t blocks : {1, 2, 3, 5, 8, 16, 37, 64}) {
      auto slots = shuffle_slots(seeded(records), even(records, blocks));
      std::sort(slots.begin(), slots.end());
      ASSERT_EQ(slots.size(), records);
      for (std::uint32_t i = 0; i < records; ++i) ASSERT_EQ(slots[i], i) << records << " " << blocks;
    }
  auto slots = shuffle_slots(seeded(1), {100, 4, {0, 70, 70, 75, 100}});  // sites of different size, one empty
  std::sort(slots.begin(), slots.end());
  for (std::uint32_t i = 0; i < 100; ++i) ASSERT_EQ(slots[i], i);
}

TEST(Shuffle, DependsOnTheSeed) {
  EXPECT_EQ(shuffle_slots(seeded(1), even(1000, 16)), shuffle_slots(seeded(1), even(1000, 16)));
  EXPECT_NE(shuffle_slots(seeded(1), even(1000, 16)), shuffle_slots(seeded(2), even(1000, 16)));
}

// What a rank has to do in a step must not depend on luck: the ranks wait for the last one.
TEST(Shuffle, BatchesFallEvenlyOnHalvesAndQuarters) {
  for (const std::uint32_t blocks : {4, 16, 64})
    for (const std::size_t width : {1, 7, 64, 100}) {
      const BlockLayout layout = even(64 * 60, blocks);
      EXPECT_LE(imbalance(layout, width, 0, blocks / 2, width), 1);
      EXPECT_LE(imbalance(layout, width, blocks / 2, blocks, width), 1);
      for (std::uint32_t q = 0; q < 4; ++q)
        EXPECT_LT(imbalance(layout, width, q * blocks / 4, (q + 1) * blocks / 4, width), 2) << blocks;
    }
  EXPECT_LT(imbalance(even(1 << 16, 16), 1, 3, 4, 64), 2) << "and on single blocks";
}

TEST(Shuffle, BatchesFallEvenlyOnAnyBlocks) {
  for (const std::uint32_t blocks : {3, 5, 6, 12, 23})
    for (const std::uint64_t records : {997, 1001})
      for (const std::size_t width : {8, 64}) {
        EXPECT_LE(imbalance(even(records, blocks), width, 0, blocks / 2, width), 4) << blocks;
        EXPECT_LE(imbalance(even(records, blocks), width, 0, (blocks + 2) / 3, width), 4) << blocks;
      }
  // Sites of 1200, 400 and 50 records in 2 blocks each: all of them last until the end.
  const BlockLayout sites{1650, 6, {0, 600, 1200, 1400, 1600, 1625, 1650}};
  for (const std::uint32_t site : {0, 2, 4}) EXPECT_LE(imbalance(sites, 1, site, site + 2, 64), 4) << site;
}

/// sum (observed - expected)^2 / expected over equally likely cells, less its mean, over its deviation.
double chi_square_score(const std::vector<double>& observed, double expected) {
  double chi_square = 0;
  for (const double o : observed) chi_square += (o - expected) * (o - expected) / expected;
  const double freedom = static_cast<double>(observed.size()) - 1;
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

TEST(Shuffle, EveryRecordMayHaveAnySlot) {
  constexpr std::uint64_t seeds = 20000;
  for (const BlockLayout& layout : {even(48, 16), even(48, 1), even(45, 8), BlockLayout{48, 3, {0, 32, 44, 48}}}) {
    const std::size_t last = layout.records - 1;
    std::vector<double> first_at(layout.records), last_at(layout.records), in_slot_0(layout.records);
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      const auto slots = shuffle_slots(seeded(seed), layout);
      ++first_at[slots[0]], ++last_at[slots[last]];
      ++in_slot_0[static_cast<std::size_t>(std::find(slots.begin(), slots.end(), 0) - slots.begin())];
    }
    const double expected = static_cast<double>(seeds) / static_cast<double>(layout.records);
    EXPECT_LT(chi_square_score(first_at, expected), 5);
    EXPECT_LT(chi_square_score(last_at, expected), 5);
    EXPECT_LT(chi_square_score(in_slot_0, expected), 5);
  }
}

// Records of the same block, and of different ones, meet in a batch about as often as in a plain shuffle.
TEST(Shuffle, OrderInsideABlockIsRandom) {
  constexpr std::uint64_t seeds = 4000;
  int earlier = 0, neighbours = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto slots = shuffle_slots(seeded(seed), even(64, 4));
    earlier += slots[0] < slots[1] ? 1 : 0;
    neighbours += slots[0] / 8 == slots[17] / 8 ? 1 : 0;  // of blocks 0 and 1, in one batch of 8
  }
  EXPECT_NEAR(earlier, seeds / 2.0, 5 * std::sqrt(seeds / 4.0));
  EXPECT_NEAR(neighbours, seeds / 8.0, 5 * std::sqrt(seeds * 7 / 64.0));
}

}  // namespace
}  // namespace dpmpi::shuffle_test
