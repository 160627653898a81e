#include "dpmpi/data/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "dpmpi/core/errors.hpp"

namespace dpmpi {
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
  const BlockLayout layout{7, 3};
  SecretStream root(SecretKey::from_seed(2));
  std::vector<SecretStream> blocks;
  for (std::uint64_t j = 0; j < 3; ++j) blocks.emplace_back(SecretKey::from_seed(100 + j));
  std::map<std::vector<std::uint32_t>, int> seen;
  constexpr int steps = 70000;
  for (std::uint64_t t = 0; t < steps; ++t) {
    SecretReader reader(root, t, 1);
    const auto quota = split_batch(layout, 3, reader);
    std::vector<std::uint32_t> batch;
    for (std::uint32_t j = 0; j < 3; ++j)
      for (const auto i : selected(WithoutReplacement{3}, layout.begin(j), layout.size(j), blocks[j], t, quota[j]))
        batch.push_back(i + static_cast<std::uint32_t>(layout.begin(j)));
    ASSERT_EQ(batch.size(), 3u);
    ++seen[batch];
  }
  EXPECT_EQ(seen.size(), 35u);  // 7 choose 3
  double chi2 = 0;
  const double expected = steps / 35.0;
  for (const auto& [batch, c] : seen) chi2 += (c - expected) * (c - expected) / expected;
  EXPECT_LT(chi2, 85);  // 34 degrees of freedom: exceeded with probability about 3e-6
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
  EXPECT_THROW(selected(Partition{4}, 0, 100, stream, 4), BugError);
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
}  // namespace dpmpi
