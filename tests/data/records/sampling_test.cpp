#include "data/records/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace dpmpi::sampling_test {
namespace {

std::vector<std::uint32_t> selected(const SamplingRule& rule, std::uint64_t first, std::uint64_t count,
                                    SecretStream& stream, std::uint64_t step, std::uint64_t quota = 0) {
  std::vector<std::uint32_t> out;
  select(rule, first, count, stream, /*site=*/0, step, quota, out);
  EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
  EXPECT_TRUE(std::adjacent_find(out.begin(), out.end()) == out.end());
  EXPECT_TRUE(out.empty() || out.back() < count);
  return out;
}

// Every record is selected with probability q, independently: marginal counts, pair counts and the batch size's
// variance.
TEST(Poisson, MarginalsPairsAndSizesAreBinomial) {
  for (const double q : {0.003, 0.07, 0.5, 0.9}) {
    SecretStream stream(SecretKey::from_seed(static_cast<std::uint64_t>(q * 1000)));
    constexpr std::uint64_t count = 40, steps = 40000;
    std::vector<double> marginal(count, 0);
    double neighbours = 0, size_sum = 0, size_square = 0;
    for (std::uint64_t t = 0; t < steps; ++t) {
      const auto rows = selected(Poisson{q}, 0, count, stream, t);
      for (const auto i : rows) marginal[i] += 1;
      for (std::size_t i = 1; i < rows.size(); ++i) neighbours += rows[i] == rows[i - 1] + 1;
      const auto size = static_cast<double>(rows.size());
      size_sum += size, size_square += size * size;
    }
    const double n = steps, m = count;
    for (const double c : marginal) EXPECT_NEAR(c, n * q, 5.5 * std::sqrt(n * q * (1 - q)));
    const double pairs = n * (m - 1);  // consecutive pairs; their counts are weakly dependent: variance below 3 p
    EXPECT_NEAR(neighbours, pairs * q * q, 6 * std::sqrt(3 * pairs * q * q));
    EXPECT_NEAR(size_sum / n, m * q, 5 * std::sqrt(m * q * (1 - q) / n));
    EXPECT_NEAR(size_square / n - std::pow(size_sum / n, 2), m * q * (1 - q),
                6 * m * q * (1 - q) * std::sqrt(2.0 / n + 1 / (m * q * n)));
  }
}

TEST(Poisson, EdgesAndReplay) {
  SecretStream stream(SecretKey::from_seed(1));
  EXPECT_EQ(selected(Poisson{1.0}, 0, 10, stream, 0).size(), 10u);
  EXPECT_TRUE(selected(Poisson{1e-12}, 0, 10, stream, 0).empty());
  EXPECT_TRUE(selected(Poisson{0.5}, 0, 0, stream, 0).empty());
  EXPECT_THROW(selected(Poisson{0}, 0, 10, stream, 0), BugError);
  EXPECT_EQ(selected(Poisson{0.1}, 0, 5000, stream, 9), selected(Poisson{0.1}, 0, 5000, stream, 9));
  EXPECT_NE(selected(Poisson{0.1}, 0, 5000, stream, 9), selected(Poisson{0.1}, 0, 5000, stream, 10));
}

TEST(WithoutReplacement, EverySubsetIsEquallyLikely) {
  const BlockLayout layout{8, 2};
  std::vector<SecretStream> blocks;
  for (std::uint64_t j = 0; j < 2; ++j) blocks.emplace_back(SecretKey::from_seed(100 + j));
  std::map<std::vector<std::uint32_t>, int> seen;
  constexpr int steps = 70000;
  for (std::uint64_t t = 0; t < steps; ++t) {
    std::vector<std::uint32_t> batch;
    for (std::uint32_t j = 0; j < 2; ++j)
      for (const auto i : selected(WithoutReplacement{4}, layout.begin(j), layout.size(j), blocks[j], t,
                                   block_quota(layout, 4, j, t)))
        batch.push_back(i + static_cast<std::uint32_t>(layout.begin(j)));
    ASSERT_EQ(batch.size(), 4u);
    ++seen[batch];
  }
  EXPECT_EQ(seen.size(), 36u);  // 4 choose 2, of either block
  double chi2 = 0;
  const double expected = steps / 36.0;
  for (const auto& [batch, c] : seen) chi2 += (c - expected) * (c - expected) / expected;
  EXPECT_LT(chi2, 87);  // 35 degrees of freedom: exceeded with probability about 3e-6
}

std::vector<BlockLayout> layouts() {
  std::vector<BlockLayout> list;
  for (const std::uint32_t blocks : {1u, 3u, 8u, 16u}) list.push_back({10'007, blocks});
  list.push_back({7, 3});
  list.push_back({10'100, 2, {0, 100, 10'100}});             // sites of 100 and 10,000
  list.push_back({10'100, 4, {0, 50, 100, 5'100, 10'100}});  // in two blocks each
  return list;
}

// Shares of blocks, whole numbers at each step, never further from the share than rounding makes them, and not on
// the long run either.
TEST(WithoutReplacement, QuotasAreTheBlocksSharesRounded) {
  for (const BlockLayout& layout : layouts())
    for (const std::uint64_t batch : {1u, 2u, 5u, 6u, 101u, 640u, 10'006u}) {
      if (batch > layout.records) continue;
      SCOPED_TRACE(::testing::Message() << layout.records << " in " << layout.blocks << ", batch " << batch);
      std::vector<std::uint64_t> sum(layout.blocks, 0);
      constexpr std::uint64_t steps = 2000;
      for (std::uint64_t t = 0; t < steps; ++t) {
        std::uint64_t all = 0;
        for (std::uint32_t j = 0; j < layout.blocks; ++j) {
          const std::uint64_t quota = block_quota(layout, batch, j, t);
          ASSERT_LE(quota, layout.size(j));
          all += quota, sum[j] += quota;
        }
        ASSERT_EQ(all, batch);
      }
      for (std::uint32_t j = 0; j < layout.blocks; ++j) {
        const double share = static_cast<double>(layout.size(j)) / static_cast<double>(layout.records);
        const double mean = static_cast<double>(sum[j]) / steps, expected = static_cast<double>(batch) * share;
        EXPECT_NEAR(mean, expected, 0.01 + expected * 2 / static_cast<double>(layout.size(j)));
      }
    }
}

// The law of (own quotas, whether another rank's record takes part), in integers: quotas are numbers and not drawn,
// so a record's chance given all of them is quota / size of its block, and no step's exceeds the one that events
// state. For sites of 100 and 10,000 records a batch of 101 has the rate 1/100 in both.
TEST(WithoutReplacement, QuotasTellNothingBeyondTheStatedRate) {
  for (const BlockLayout& layout : layouts())
    for (const std::uint64_t batch : {1u, 2u, 5u, 6u, 101u, 640u, 10'006u}) {
      if (batch > layout.records) continue;
      const auto rule = std::get<WithoutReplacement>(stratified(WithoutReplacement{batch}, layout));
      EXPECT_EQ(rule.batch, batch);
      std::uint64_t reached = 0;
      for (std::uint64_t t = 0; t < 2000; ++t)
        for (std::uint32_t j = 0; j < layout.blocks; ++j) {
          const std::uint64_t quota = block_quota(layout, batch, j, t);
          ASSERT_LE(quota * rule.among, rule.most * layout.size(j)) << t << " " << j;
          reached += quota == rule.most && layout.size(j) == rule.among;
        }
      EXPECT_GT(reached, 0u) << "the stated rate is one that occurs";
    }
  const BlockLayout sites{10'100, 2, {0, 100, 10'100}};
  const auto rule = std::get<WithoutReplacement>(stratified(WithoutReplacement{101}, sites));
  EXPECT_EQ(rule.most * 100, rule.among) << "rate 1/100";
  for (std::uint64_t t = 0; t < 100; ++t) EXPECT_EQ(block_quota(sites, 101, 0, t), 1u);
  EXPECT_TRUE(std::holds_alternative<FullBatch>(stratified(FullBatch{}, sites)));
}

TEST(Cyclic, EveryRecordOnceInEachRoundOnAnyBlocks) {
  SecretStream stream(SecretKey::from_seed(2));
  for (const std::uint32_t blocks : {1u, 4u, 7u}) {
    const BlockLayout layout{101, blocks};
    std::vector<int> times(101, 0);
    for (std::uint64_t t = 10; t < 20; ++t)
      for (std::uint32_t j = 0; j < blocks; ++j)
        for (const auto i : selected(Cyclic{10}, layout.begin(j), layout.size(j), stream, t)) {
          ++times[layout.begin(j) + i];
          EXPECT_EQ((layout.begin(j) + i) % 10, t % 10);
        }
    for (const int c : times) EXPECT_EQ(c, 1);
  }
}

// Step t draws from group t mod 7 alone, each of its records with probability q, whatever the blocks. Trap: a group
// that is counted from a block's begin.
TEST(CyclicPoisson, DrawsOneGroupAfterTheOther) {
  constexpr std::uint64_t n = 101, steps = 28000;
  constexpr double q = 0.3;
  for (const std::uint32_t blocks : {1u, 4u}) {
    const BlockLayout layout{n, blocks};
    std::vector<SecretStream> streams;
    for (std::uint32_t j = 0; j < blocks; ++j) streams.emplace_back(SecretKey::from_seed(j));
    std::vector<double> times(n, 0);
    double pairs = 0;
    for (std::uint64_t t = 0; t < steps; ++t)
      for (std::uint32_t j = 0; j < blocks; ++j) {
        const auto rows = selected(CyclicPoisson{7, q}, layout.begin(j), layout.size(j), streams[j], t);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          ASSERT_EQ((layout.begin(j) + rows[i]) % 7, t % 7);
          ++times[layout.begin(j) + rows[i]];
          if (i > 0 && rows[i] == rows[i - 1] + 7) ++pairs;
        }
      }
    constexpr double turns = steps / 7.0;
    for (const double c : times) EXPECT_NEAR(c, turns * q, 5 * std::sqrt(turns * q * (1 - q)));
    const double neighbours = turns * static_cast<double>(n - 7 * blocks);
    EXPECT_NEAR(pairs, neighbours * q * q, 6 * std::sqrt(3 * neighbours * q * q));
  }
  SecretStream stream(SecretKey::from_seed(1));
  EXPECT_TRUE(selected(CyclicPoisson{7, 1}, 1, 3, stream, 0).empty()) << "a block without records of the group";
  EXPECT_EQ(selected(CyclicPoisson{7, 1}, 5, 10, stream, 0), (std::vector<std::uint32_t>{2, 9}));
  EXPECT_EQ(largest_batch(CyclicPoisson{7, q}, n), 15u);
  EXPECT_DOUBLE_EQ(expected_batch(CyclicPoisson{7, q}, n), n * q / 7);
}

// Every record is in one step of an epoch, each step with the same chance, whatever the other records and epochs
// have. Trap: one order for all epochs, or one count for all steps.
TEST(BallsInBins, EveryRecordIsInOneStepOfAnEpochAndAnyPairInOneByChance) {
  constexpr std::uint64_t count = 40, steps = 7, epochs = 4000;
  SecretStream stream(SecretKey::from_seed(5));
  std::vector<double> first(count, 0);
  std::vector<std::uint32_t> rows, slots, before(count, 0);
  double together = 0, again = 0, size_square = 0;
  for (std::uint64_t e = 0; e < epochs; ++e) {
    const std::vector<std::uint32_t> bins = draw_bins({steps}, count, stream, /*site=*/3, e);
    EXPECT_EQ(bins, draw_bins({steps}, count, stream, 3, e)) << "the key and the epoch say all";
    ShuffledBlock block(bins, 0, count);
    std::vector<int> times(count, 0);
    for (std::uint32_t t = 0; t < steps; ++t) {
      block.select(t, t + 1, rows, slots);
      EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
      for (const std::uint32_t i : rows) {
        ++times[i];
        ASSERT_EQ(bins[i], t);
        if (t == 0) ++first[i];
      }
      if (t == 0) size_square += std::pow(static_cast<double>(rows.size()) - count / 7.0, 2);
    }
    EXPECT_EQ(times, std::vector<int>(count, 1));
    for (std::size_t i = 1; i < count; ++i) together += bins[i] == bins[i - 1];
    for (std::size_t i = 0; i < count; ++i) again += bins[i] == before[i];
    before = bins;
  }
  constexpr double p = 1.0 / steps, n = epochs, m = count;
  for (const double c : first) EXPECT_NEAR(c, n * p, 5 * std::sqrt(n * p * (1 - p)));
  EXPECT_NEAR(together, n * (m - 1) * p, 5 * std::sqrt(n * m * p));
  EXPECT_NEAR(again, n * m * p, 5 * std::sqrt(n * m * p));
  const double variance = m * p * (1 - p);
  EXPECT_NEAR(size_square / n, variance, 5 * variance * std::sqrt(2 / n)) << "sizes are binomial";
  EXPECT_EQ(largest_batch(BallsInBins{steps}, count), count);
  EXPECT_DOUBLE_EQ(expected_batch(BallsInBins{steps}, count), count / 7.0);
}

std::vector<std::vector<std::uint32_t>> batches(const MicroBatching& batching, const Records& records,
                                                const std::vector<std::uint32_t>& rows) {
  std::vector<std::vector<std::uint32_t>> out;
  batching.for_each(records, rows, [&](const Rows& r) { out.emplace_back(r.index.begin(), r.index.end()); });
  return out;
}

// N4: adding one record changes one micro-batch into one, or into two that together hold at most capacity + 1 rows.
TEST(MicroBatching, OneRecordChangesOneMicroBatchOrSplitsIt) {
  Records records;
  records.count = 512;
  const MicroBatching batching{16, 8};
  SecretStream stream(SecretKey::from_seed(77));
  int splits = 0;
  for (std::uint64_t t = 0; t < 3000; ++t) {
    auto rows = selected(Poisson{t % 3 == 0 ? 0.6 : 0.24}, 0, 512, stream, t);
    const auto extra = static_cast<std::uint32_t>((t * 37) % 512);
    if (std::binary_search(rows.begin(), rows.end(), extra)) continue;
    const auto without = batches(batching, records, rows);
    rows.insert(std::lower_bound(rows.begin(), rows.end(), extra), extra);
    const auto with = batches(batching, records, rows);
    std::vector<std::vector<std::uint32_t>> gone, fresh;
    std::set_difference(without.begin(), without.end(), with.begin(), with.end(), std::back_inserter(gone));
    std::set_difference(with.begin(), with.end(), without.begin(), without.end(), std::back_inserter(fresh));
    ASSERT_LE(gone.size(), 1u);
    ASSERT_GE(fresh.size(), 1u);
    ASSERT_LE(fresh.size(), 2u);
    std::size_t total = 0;
    for (const auto& b : fresh) total += b.size();
    ASSERT_LE(total, 17u);
    for (const auto& b : with) ASSERT_LE(b.size(), 16u);
    splits += fresh.size() == 2;
  }
  EXPECT_GT(splits, 20) << "the interesting case must occur";
}

TEST(MicroBatching, CoversAllSelectedRowsOnce) {
  Records records;
  records.count = 1000;
  SecretStream stream(SecretKey::from_seed(3));
  for (const double q : {0.01, 0.3, 1.0}) {
    const auto plan = MicroBatching::plan(128, 1000, q);
    const auto rows = selected(Poisson{q}, 0, 1000, stream, 1);
    std::vector<std::uint32_t> all;
    for (const auto& b : batches(plan, records, rows)) all.insert(all.end(), b.begin(), b.end());
    EXPECT_EQ(all, rows);
  }
  EXPECT_EQ(MicroBatching::plan(128, 1024, 1.0).ranges, 8u);
  EXPECT_EQ(MicroBatching::plan(128, 3750, 64.0 / 3750).ranges, 1u);
}

}  // namespace
}  // namespace dpmpi::sampling_test
