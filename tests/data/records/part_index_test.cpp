// Disjoint parts of the data: no record in two of them, by position alone, the same on any number of ranks.
#include "data/records/part_index.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace dpmpi::part_index_test {
namespace {

/// What one of `ranks` ranks holds of n records: positions only.
Shard positions(std::uint64_t n, std::uint32_t blocks, int rank = 0, int ranks = 1) {
  Shard shard;
  shard.layout = {n, blocks, {}};
  const Ownership ownership = Ownership::even(blocks, ranks);
  for (std::uint32_t b = ownership.begin(rank); b < ownership.end(rank); ++b) {
    Records records;
    records.count = shard.layout.size(b);
    shard.blocks.push_back({b, shard.layout.begin(b), std::move(records)});
  }
  return shard;
}

/// Parts of n/2, n/4, ... records and, where it is not empty, one of all the rest.
Disjoint halves(std::uint64_t n, bool rest, Disjoint::Places places = Disjoint::Places::by_slot) {
  Disjoint rule{.parts = {}, .seed = 7, .places = places};
  std::uint64_t left = n;
  for (std::uint64_t size = n / 2; size > 0 && rule.parts.size() < 6; size /= 2)
    rule.parts.push_back({size, 1 + rule.parts.size() % 3, 1}), left -= size;
  if (rest || rule.parts.empty()) rule.parts.push_back({left, 2, 1});
  return rule;
}

/// Index of the record at every place of every part, from all ranks.
std::vector<std::vector<std::uint64_t>> members(const Disjoint& rule, std::uint64_t n, std::uint32_t blocks,
                                                int ranks) {
  constexpr std::uint64_t nobody = ~std::uint64_t{0};
  std::vector<std::vector<std::uint64_t>> found;
  for (const auto& part : rule.parts) found.emplace_back(part.size, nobody);
  for (int rank = 0; rank < ranks; ++rank) {
    const Shard shard = positions(n, blocks, rank, ranks);
    PartIndex places(rule, shard);
    std::vector<std::uint32_t> rows, at;
    for (std::size_t i = 0; i < shard.blocks.size(); ++i)
      for (std::size_t p = 0; p < rule.parts.size(); ++p) {
        places.select(i, p, 0, rule.parts[p].size, rows, at);
        EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
        for (std::size_t j = 0; j < rows.size(); ++j) {
          EXPECT_EQ(found[p].at(at[j]), nobody) << "two records at one place";
          found[p].at(at[j]) = shard.blocks[i].first_index + rows[j];
        }
      }
  }
  return found;
}

// T5: parts never overlap, whatever n, and leave no place empty.
TEST(PartIndex, NoRecordIsInTwoParts) {
  for (const std::uint64_t n : {1ULL, 2ULL, 3ULL, 1000ULL, (1ULL << 17) + 5})
    for (const bool rest : {false, true})
      for (const auto order : {Disjoint::Places::by_slot, Disjoint::Places::by_block}) {
        const Disjoint rule = halves(n, rest, order);
        std::vector<std::uint8_t> used(n, 0);
        std::uint64_t total = 0;
        for (const auto& part : members(rule, n, 16, 1))
          for (const std::uint64_t record : part) {
            ASSERT_LT(record, n) << "an empty place, n = " << n;
            ASSERT_EQ(used[record]++, 0) << "record " << record << " of " << n;
            ++total;
          }
        EXPECT_EQ(total, rule.begin(rule.parts.size()));
        EXPECT_LE(total, n);
        if (rest) {
          EXPECT_EQ(total, n);
        }
      }
}

TEST(PartIndex, AreTheSameOnAnyNumberOfRanksAndInAnyOrderOfPlaces) {
  const auto sorted = [](std::vector<std::vector<std::uint64_t>> parts) {
    for (auto& part : parts) std::ranges::sort(part);
    return parts;
  };
  const auto by_slot = members(halves(1003, true), 1003, 16, 1);
  const auto by_block = members(halves(1003, true, Disjoint::Places::by_block), 1003, 16, 1);
  EXPECT_NE(by_slot, by_block);
  EXPECT_EQ(sorted(by_slot), sorted(by_block)) << "the order of places does not change who is in a part";
  for (const int ranks : {2, 3, 8, 16}) {
    EXPECT_EQ(by_slot, members(halves(1003, true), 1003, 16, ranks));
    EXPECT_EQ(by_block, members(halves(1003, true, Disjoint::Places::by_block), 1003, 16, ranks));
  }
}

TEST(PartIndex, ByBlockGoesBlockAfterBlockInTheOrderOfTheShuffle) {
  constexpr std::uint64_t n = 500;
  const Disjoint rule = halves(n, true, Disjoint::Places::by_block);
  const Shard shard = positions(n, 5);
  const auto slots = shuffle_slots(rule.seed, shard.layout);
  PartIndex places(rule, shard);
  const auto everyone = members(rule, n, 5, 1);
  for (std::size_t p = 0; p < rule.parts.size(); ++p) {
    std::vector<std::uint64_t> walked;
    for (std::size_t i = 0; i < shard.blocks.size(); ++i) {
      EXPECT_EQ(places.first_place(i, p), walked.size());
      for (const std::uint32_t row : places.in_order(i, p)) walked.push_back(shard.blocks[i].first_index + row);
    }
    EXPECT_EQ(walked, everyone[p]);
    for (std::size_t j = 1; j < walked.size(); ++j)
      EXPECT_TRUE(walked[j - 1] / 100 < walked[j] / 100 ||
                  (walked[j - 1] / 100 == walked[j] / 100 && slots[walked[j - 1]] < slots[walked[j]]));
  }
}

// Batches of a phase: consecutive places are consecutive slots, which fall evenly on the blocks.
TEST(PartIndex, RangesOfPlacesCutThePart) {
  constexpr std::uint64_t n = 1600;
  for (const auto order : {Disjoint::Places::by_slot, Disjoint::Places::by_block}) {
    const Disjoint rule{.parts = {{1000, 1, 1}, {600, 1, 1}}, .seed = 3, .places = order};
    const Shard shard = positions(n, 16);
    PartIndex places(rule, shard);
    std::vector<std::uint32_t> rows, at;
    for (std::size_t p = 0; p < 2; ++p) {
      std::set<std::uint64_t> seen;
      for (std::uint64_t begin = 0; begin < rule.parts[p].size; begin += 64) {
        const std::uint64_t end = std::min(begin + 64, rule.parts[p].size);
        std::set<std::uint32_t> numbers;
        for (std::size_t i = 0; i < shard.blocks.size(); ++i) {
          places.select(i, p, begin, end, rows, at);
          for (const std::uint32_t row : rows) EXPECT_TRUE(seen.insert(shard.blocks[i].first_index + row).second);
          numbers.insert(at.begin(), at.end());
          if (order == Disjoint::Places::by_slot && end - begin == 64) {
            EXPECT_NEAR(static_cast<double>(rows.size()), 4, 2);
          }
        }
        EXPECT_EQ(numbers.size(), end - begin);
        EXPECT_EQ(*numbers.rbegin(), end - begin - 1);
      }
      EXPECT_EQ(seen.size(), rule.parts[p].size);
    }
  }
}

TEST(Disjoint, CountsReleasesAndSlots) {
  const Disjoint rule{.parts = {{10, 3, 1}, {5, 1, 0.5}, {2, 2, 4}}};
  EXPECT_EQ(rule.uses(), 6u);
  const std::vector<std::size_t> parts{0, 0, 0, 1, 2, 2};
  for (std::uint64_t t = 0; t < 6; ++t) EXPECT_EQ(rule.part_of(t), parts[t]);
  EXPECT_EQ(rule.first_release(2), 4u);
  EXPECT_EQ(rule.begin(1), 10u);
  EXPECT_EQ(rule.begin(3), 17u);
  EXPECT_EQ(largest_batch(rule, 100), 10u);
  EXPECT_NEAR(expected_batch(rule, 100), (3 * 10 + 5 + 2 * 2) / 6.0, 1e-12);
  EXPECT_EQ(describe(rule), "disjoint parts of 10 (3 times), 5, 2 (2 times) records");
  Disjoint folds;
  for (const std::uint64_t size : {20, 10, 5}) folds.parts.insert(folds.parts.end(), 27, {size, 64});
  EXPECT_EQ(describe(folds), "disjoint parts of 27 x 20 (64 times), 27 x 10 (64 times), 27 x 5 (64 times) records");
  Disjoint halves;
  for (std::uint64_t size = 1 << 10; size > 0; size /= 2) halves.parts.push_back({size, 1});
  EXPECT_EQ(describe(halves), "disjoint parts of 1024, 512, 256, 128, ..., 1 records");
}

}  // namespace
}  // namespace dpmpi::part_index_test
