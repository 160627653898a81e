// Records that are kept out of training: how many they are, which, and that no value of a record has a say in it.
#include "data/load/held_out.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "support/shards.hpp"

namespace dpmpi::held_out_test {
namespace {

HeldOut parts_of_records(double share, std::uint64_t records, std::vector<std::uint64_t> files = {}) {
  DatasetFacts facts{records, 3, Storage::dense_f32};
  facts.shards = std::move(files);
  return HeldOut(share, facts);
}

TEST(HeldOutRule, TakesOneSlotOfEveryRunOfSlots) {
  for (const std::uint64_t n : {2, 3, 10, 11, 97, 1000, 12345})
    for (const double share : {0.01, 0.1, 0.25, 1 / 3.0, 0.5}) {
      const auto m = static_cast<std::uint64_t>(std::floor(share * static_cast<double>(n)));
      if (m == 0) {
        EXPECT_THROW(parts_of_records(share, n), ConfigError) << n << " " << share;
        continue;
      }
      const HeldOut parts = parts_of_records(share, n);
      EXPECT_EQ(parts.held_out().records, m);
      EXPECT_EQ(parts.training().records, n - m);
      std::vector<int> of_run(m);
      for (std::uint64_t slot = 0; slot < n; ++slot)
        if (parts.holds(slot)) ++of_run[((slot + 1) * m - 1) / n];
      EXPECT_TRUE(std::ranges::all_of(of_run, [](int count) { return count == 1; })) << n << " " << share;
    }
}

// Files that are sorted, or that repeat after a period, give both parts of everything.
TEST(HeldOutRule, FollowsNoPeriod) {
  const HeldOut parts = parts_of_records(0.1, 100000);
  for (const std::uint64_t period : {2, 5, 7, 10, 20, 100}) {
    std::vector<double> found(period);
    for (std::uint64_t slot = 0; slot < 100000; ++slot)
      if (parts.holds(slot)) ++found[slot % period];
    const double expected = 10000.0 / static_cast<double>(period);
    for (const double count : found) EXPECT_NEAR(count, expected, 5 * std::sqrt(expected)) << period;
  }
}

TEST(HeldOutRule, LayoutsHaveTheSlotsOfEachPart) {
  for (const std::uint32_t blocks : {2, 4, 6, 16})
    for (const double share : {0.1, 0.5})
      for (const auto& files : {std::vector<std::uint64_t>{}, {301, 200}}) {
        const HeldOut parts = parts_of_records(share, 501, files);
        const BlockLayout training = BlockLayout::of(parts.training(), blocks);
        const BlockLayout whole = parts.whole_layout(training), held = parts.held_out_layout(training);
        EXPECT_EQ(whole.begin(blocks), 501U);
        EXPECT_EQ(held.begin(blocks), parts.held_out().records);
        if (!files.empty()) {
          EXPECT_EQ(whole.begin(blocks / 2), 301U) << "no block mixes two files";
        }
        for (std::uint32_t b = 0; b < blocks; ++b) {
          std::uint64_t kept = 0;
          for (std::uint64_t slot = whole.begin(b); slot < whole.begin(b + 1); ++slot) kept += !parts.holds(slot);
          EXPECT_EQ(kept, training.size(b));
          EXPECT_EQ(whole.size(b) - kept, held.size(b));
        }
      }
}

/// A record, in words.
std::string shown(const Records& r, std::size_t i) {
  std::string text = fmt::format("{} {} {}:", r.label[i], r.norm[i], r.bias);
  for (std::size_t j = 0; j < r.features; ++j) text += fmt::format(" {}", test::feature(r, i, j));
  return text;
}
std::vector<std::string> shown(const Shard& shard) {
  std::vector<std::string> all;
  for (const Block& block : shard.blocks)
    for (std::size_t u = 0; u < block.records.units(); ++u) {
      const auto unit = static_cast<std::uint32_t>(u);
      std::string text;
      for (std::uint32_t i = block.records.unit_begin(unit); i < block.records.unit_begin(unit + 1); ++i)
        text += shown(block.records, i) + "\n";
      all.push_back(text);
    }
  return all;
}

/// Shards of all slots, as they are loaded.
Shard whole_shard(const HeldOut& parts, Storage storage, std::uint32_t blocks, bool persons) {
  Shard shard;
  shard.layout = parts.whole_layout(BlockLayout::of(parts.training(), blocks));
  shard.facts = {shard.layout.records, 7, storage};
  for (std::uint32_t b = 0; b < blocks; ++b) {
    test::RecordsShape shape{.storage = storage, .count = shard.layout.size(b), .features = 7};
    if (persons) shape.count = shape.count * 3;
    Block block{b, shard.layout.begin(b), test::random_records(shape, 5 + b)};
    if (persons)  // of 0 to 6 records
      for (std::size_t p = 0; p <= shard.layout.size(b); ++p)
        block.records.person_begin.push_back(
            static_cast<std::uint32_t>(3 * p + (p % 2 && p < shard.layout.size(b) ? 3 * (p % 4 == 1) : 0)));
    shard.blocks.push_back(std::move(block));
  }
  return shard;
}

TEST(HeldOutRule, EveryRecordIsInOnePartAsItWas) {
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32})
    for (const bool persons : {false, true}) {
      const HeldOut parts = parts_of_records(0.2, 103);
      const BlockLayout training = BlockLayout::of(parts.training(), 4);
      const Shard whole = whole_shard(parts, storage, 4, persons);
      const auto all = shown(whole);
      const HeldOut::Parts split = parts.split(whole, training);
      const auto trained = shown(split.training), held = shown(split.held_out);
      std::vector<std::string> expected_trained, expected_held;
      for (std::uint64_t slot = 0; slot < all.size(); ++slot)
        (parts.holds(slot) ? expected_held : expected_trained).push_back(all[slot]);
      EXPECT_EQ(trained, expected_trained);
      EXPECT_EQ(held, expected_held);
      EXPECT_EQ(held.size(), parts.held_out().records);
      for (const Shard* part : {&split.training, &split.held_out})
        for (const Block& block : part->blocks) {
          EXPECT_EQ(block.records.units(), part->layout.size(block.id));
          EXPECT_EQ(block.first_index, part->layout.begin(block.id));
          EXPECT_EQ(block.records.label.size(), block.records.count);
        }
    }
}

}  // namespace
}  // namespace dpmpi::held_out_test
