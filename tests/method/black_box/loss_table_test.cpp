// The table of losses and its clipped sums: what one record can change, and which bits are whose.
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "method/black_box/reduced_weights.hpp"
#include "problems/loss_sums.hpp"
#include "support/special_numbers.hpp"

namespace dpmpi::loss_table_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::distance;
using test::labelled_shard;
using test::NumberedLoss;
using test::quadratic;
using test::random;
using test::ReducedWeights;
using test::sum;
using test::sum_lattice;
using test::zero;

using test::nan, test::infinity;

// A14, T2: 10,000 pairs of neighbours, extreme losses among them, in integers.
TEST(LossTable, ReplacingARecordMovesTheSumByTwiceTheClipAtMost) {
  constexpr double B = 0.75;
  const double extremes[] = {0, 1e-300, 1, -3, 1e6, -1e12, 1e16, 1e200, 1e308, -1e308, infinity, -infinity, nan};
  double largest = 0;
  const Shard shard = labelled_shard({0, 2});
  for (std::uint64_t pair = 0; pair < 10000; ++pair) {
    const PublicStream stream(pair, "neighbours");
    const Index d = 1 + static_cast<Index>(pair % 4), N = 1 + static_cast<Index>(pair / 4 % 3);
    const MatrixXd points = random(d, N, pair), map = 10 * random(d, N, pair + 1);
    int changed = 0;
    const auto loss = [&](std::size_t i, std::span<const double> w) {
      const auto draw = static_cast<std::uint64_t>(i == 0 ? 0 : 10 + 10 * changed) +
                        static_cast<std::uint64_t>(std::abs(w[0]) * 1000) % 8;
      return pair % 2 == 0 ? extremes[stream.below(draw, std::size(extremes))] : 100 * (stream.uniform(draw) - 0.5);
    };
    const auto before = sum(loss, shard, points, map, B);
    changed = 1;
    largest = std::max(largest, distance(sum(loss, shard, points, map, B), before, sum_lattice));
  }
  EXPECT_LE(largest, 2 * B * (1 + 1e-9));
  EXPECT_GT(largest, 1.99 * B) << "the bound is tight";
}

// Until then whoever makes it may take its time: evaluations do not wait for the map, only the product does.
TEST(LossTable, AsksForTheMapWhenAllPointsWereEvaluated) {
  constexpr std::size_t n = 50, N = 4;
  const Shard shard = labelled_shard({0, n});
  const MatrixXd points = random(2, N, 1), map = random(2, N, 2);
  std::size_t evaluations = 0, asked = 0;
  NumberedLoss objective(2,
                         [&](std::size_t i, std::span<const double> w) { return ++evaluations, quadratic(i, w); });
  LossTable table(objective, {});
  LatticeAccumulator total(2, sum_lattice, 1, 0, Width::int64);
  total.clear();
  const Kernel kernel = table.kernel({points.data(), 2 * N}, 0, [&] {
    EXPECT_EQ(evaluations, n * N);
    ++asked;
    return std::span(map.data(), 2 * N);
  });
  std::vector<std::uint32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0U);
  kernel.run({1}, total, [&](const auto& visit) { visit(Rows{shard.blocks[0].records, rows}); });
  EXPECT_EQ(asked, 1U);
  EXPECT_EQ(evaluations, n * N) << "none twice";
  const std::vector<std::int64_t> found(total.totals().begin(), total.totals().end());
  EXPECT_EQ(found, sum(quadratic, shard, points, map, 1));
}

// T10, A24: records whose losses are not numbers, or too large, drop out alone.
TEST(LossTable, RecordsThatAreNotFiniteDropOut) {
  const MatrixXd points = random(3, 5, 1), map = random(3, 5, 2);
  const Shard shard = labelled_shard({0, 50});
  const auto clean = [](std::size_t i, std::span<const double> w) {
    return i == 7 || i == 20 || i == 33 ? 0 : quadratic(i, w);
  };
  const auto bad = [&](std::size_t i, std::span<const double> w) {
    return i == 7 ? (w[0] > 0 ? nan : 1.0) : i == 20 ? infinity : i == 33 ? 1e308 : quadratic(i, w);
  };
  const auto a = sum(clean, shard, points, map, 1), b = sum(bad, shard, points, map, 1);
  EXPECT_LE(distance(a, b, sum_lattice), 1 * (1 + 1e-9)) << "the two that are not finite add nothing";
}

// T8, T23: what a record adds has the same bits beside any others, wherever it stands.
TEST(LossTable, ARecordsContributionDependsOnItAlone) {
  const Index d = 19, N = 37;
  const MatrixXd points = random(d, N, 1), map = random(d, N, 2);
  const auto only = [](std::size_t kept) {
    return [=](std::size_t i, std::span<const double> w) { return i == kept ? quadratic(i, w) : nan; };
  };
  const auto plus = [&](std::vector<std::int64_t> a, const std::vector<std::int64_t>& b) {
    for (std::size_t j = 0; j < a.size(); ++j) a[j] += b[j];
    return a;
  };
  const Shard whole = labelled_shard({0, 45}), parts = labelled_shard({0, 3, 24, 45});
  std::vector<std::int64_t> total(static_cast<std::size_t>(d), 0);
  for (std::size_t i = 0; i < 45; ++i) {
    const auto own = sum(only(i), whole, points, map, 0.5);
    EXPECT_EQ(own, sum(only(i), parts, points, map, 0.5)) << i;
    total = plus(total, own);
  }
  EXPECT_EQ(total, sum(quadratic, whole, points, map, 0.5));
}

// Columns that were written one step after another, moved up and widened hold what they held.
TEST(LossTable, TheTableRemembersWhatItEvaluated) {
  const Shard shard = labelled_shard({0, 40, 70});
  const MatrixXd points = random(3, 60, 1);
  int asked = 0;
  NumberedLoss objective(3, [&](std::size_t i, std::span<const double> w) { return ++asked, quadratic(i, w); });
  LossTable table(objective, {});
  Index first = 0, last = 0;
  for (const auto& [more, forgotten] : {std::pair{5, 0}, {9, 3}, {30, 11}, {1, 10}, {8, 0}}) {
    last += more;
    const MatrixXd known = points.middleCols(first, last - first), map = random(3, last - first, 7);
    asked = 0;
    EXPECT_EQ(sum(table, shard, known, map, 0.6), sum(quadratic, shard, known, map, 0.6));
    EXPECT_EQ(asked, more * 70);
    table.forget_first(static_cast<std::size_t>(forgotten));
    first += forgotten;
  }
}

// A11: unclipped, the sum is W times the sum of the losses. A25: so it is through fewer numbers a record.
TEST(LossTable, UnclippedSumsAreLinear) {
  const Shard shard = labelled_shard({0, 30});
  const MatrixXd points = random(6, 4, 1), map = random(6, 4, 2);
  VectorXd losses = VectorXd::Zero(4);
  for (Index q = 0; q < 4; ++q)
    for (std::size_t i = 0; i < 30; ++i) losses(q) += quadratic(i, {points.col(q).data(), 6});
  const VectorXd expected = map * losses;
  const auto whole = sum(quadratic, shard, points, map, 1e3);
  const ReducedWeights reduced(map);
  for (const double clip : {1e3, 3.0}) {
    const auto direct = sum(quadratic, shard, points, map, clip),
               short_sum = sum(quadratic, shard, points, reduced.R, clip);
    VectorXd turned = VectorXd::Zero(6);
    for (Index q = 0; q < 4; ++q)
      turned += reduced.Q.col(q) * std::ldexp(static_cast<double>(short_sum[static_cast<std::size_t>(q)]), -40);
    for (Index j = 0; j < 6; ++j)
      EXPECT_NEAR(turned(j), std::ldexp(static_cast<double>(direct[static_cast<std::size_t>(j)]), -40), 1e-9);
  }
  for (Index j = 0; j < 6; ++j)
    EXPECT_NEAR(std::ldexp(static_cast<double>(whole[static_cast<std::size_t>(j)]), -40), expected(j), 1e-9);
}

// ---- Evaluation noise.

TEST(LossTable, EvaluationNoiseIsSharedOrARecordsOwn) {
  constexpr std::size_t n = 400;
  const Shard shard = labelled_shard({0, n});
  const MatrixXd points = random(1, 2, 1), map = MatrixXd::Ones(1, 2);
  std::vector<std::uint32_t> rows(n), slots(n);
  std::iota(rows.begin(), rows.end(), 0U);
  std::iota(slots.rbegin(), slots.rend(), 0U);
  const auto total = [&](LossRule::Noise noise, std::uint64_t first, std::uint64_t seed) {
    NumberedLoss objective(1, zero);
    LossTable table(objective, {.noise = noise, .noise_std = 0.5, .seed = seed});
    LatticeAccumulator to(1, Lattice{30}, 1e3, 0, Width::int64);
    to.clear();
    table.kernel({points.data(), 2}, first, [&map] { return std::span(map.data(), 2); })
        .run({1e3}, to, [&](const auto& visit) {
          for (std::size_t i = 0; i < n; i += 100)
            visit(Rows{shard.blocks[0].records, std::span(rows).subspan(i, 100), std::span(slots).subspan(i, 100)});
        });
    return std::ldexp(static_cast<double>(to.totals()[0]), -30);
  };
  using Noise = LossRule::Noise;
  EXPECT_EQ(total(Noise::none, 0, 1), 0);
  double shared = 0, own = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    shared += std::pow(total(Noise::shared, 0, seed), 2) / 200;
    own += std::pow(total(Noise::per_record, 0, seed), 2) / 200;
  }
  EXPECT_NEAR(shared / (2 * 0.25 * n * n), 1, 0.4) << "does not average out";
  EXPECT_NEAR(own / (2 * 0.25 * n), 1, 0.4);
  EXPECT_EQ(total(Noise::per_record, 3, 1), total(Noise::per_record, 3, 1));
  EXPECT_NE(total(Noise::per_record, 3, 1), total(Noise::per_record, 4, 1));
}

}  // namespace
}  // namespace dpmpi::loss_table_test
