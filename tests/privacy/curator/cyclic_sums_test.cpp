// Running sums over cyclic Poisson samples: what one record moves, in integers, the noise, and the event.

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curves/strategy.hpp"
#include "support/curator_world.hpp"

namespace dpmpi::cyclic_sums_test {
namespace {

constexpr test::RecordsShape shape{Storage::dense_f32, 60, 4, 0, LabelKind::sign};
constexpr std::uint64_t groups = 5, steps = 23;

RunningSum band_of(Strategy strategy, std::uint64_t band) {
  RunningSum sum{.strategy = strategy, .band = band};
  if (has_buffers(strategy)) sum.buffers = {1, {0.9}, {0.7}};
  return sum;
}

QuerySpec spec(std::size_t dim, const RunningSum& running, double rate = 0.5) {
  return {.name = "sum",
          .dim = dim,
          .sampling = CyclicPoisson{groups, rate},
          .noise_multiplier = 2,
          .steps = steps,
          .kind = running};
}

struct World : test::World {
  const Query& query = queries[0];
  explicit World(const QuerySpec& s) : test::World({.shape = shape}, {s}) {}
};

// A whole bound along the axis that the record's place says. A slot whose record is gone adds nothing.
const Kernel axes = [](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  for (const std::uint32_t i : rows.index) {
    if (std::isnan(rows.records.label[i])) continue;
    std::vector<double> one(4, 0);
    one[i % 4] = bound.clip;
    sum.begin(1);
    sum.add(0, std::span<const double>(one));
  }
};

using Releases = std::vector<std::vector<double>>;

Releases releases(World& world) {
  Releases all;
  for (std::uint64_t t = 0; t < steps; ++t) all.push_back(world.release(t, axes));
  return all;
}

/// What a step adds to the sums before it.
Releases increments(const Releases& sums) {
  Releases all = sums;
  for (std::size_t t = 1; t < sums.size(); ++t)
    for (std::size_t j = 0; j < sums[t].size(); ++j) all[t][j] -= sums[t - 1][j];
  return all;
}

/// The rows of the strategy, in which noise is independent.
Releases rows_of(const Releases& steps_of_run, const std::vector<double>& c) {
  Releases rows = steps_of_run;
  for (std::size_t t = 0; t < rows.size(); ++t)
    for (std::size_t k = 1; k < c.size() && k <= t; ++k)
      for (std::size_t j = 0; j < rows[t].size(); ++j) rows[t][j] += c[k] * steps_of_run[t - k][j];
  return rows;
}

double square(const std::vector<double>& v) { return std::inner_product(v.begin(), v.end(), v.begin(), 0.0); }

Releases difference(Releases a, const Releases& b) {
  for (std::size_t t = 0; t < a.size(); ++t)
    for (std::size_t j = 0; j < a[t].size(); ++j) a[t][j] -= b[t][j];
  return a;
}

// The exact difference of all sums of two neighbours, with the same coins: integers. A record is in steps of its
// own group alone, and between two turns of that group moves the rows by the longest column at most. Traps: a place
// that counts anew in every block or depends on who else is there; rows that see two steps of one record.
TEST(CyclicSums, ARecordMovesOneStepInACycleAndItsRowsByTheLongestColumn) {
  int drawn = 0;
  for (const Strategy strategy : {Strategy::banded, Strategy::banded_blt})
    for (const std::size_t gone : {0U, 17U, 44U, 59U}) {
      QuerySpec exact = spec(4, band_of(strategy, groups));
      exact.noise_multiplier = 0;
      World with(exact), without(exact);
      const std::size_t block = gone / 15;
      test::remove_record(without.shard.blocks[block].records, gone - 15 * block);
      const Releases moved = increments(difference(releases(with), releases(without)));
      Tree tree{strategy, steps, 1, groups};
      tree.buffers = band_of(strategy, groups).buffers;
      const Releases rows = rows_of(moved, banded_coefficients(tree));
      double cycle = 0;
      for (std::uint64_t t = 0; t < steps; ++t) {
        const bool turn = t % groups == gone % groups;
        const double size = square(moved[t]);
        EXPECT_TRUE(size == 0 || (turn && size == 1)) << t << ' ' << gone << ' ' << size;
        drawn += size == 1 ? 1 : 0;
        if (turn) cycle = 0;
        cycle += square(rows[t]);
        EXPECT_LE(cycle, squared_sensitivity(tree)) << t << ' ' << gone;
      }
    }
  EXPECT_GT(drawn, 10);
  EXPECT_LT(drawn, 28) << "of 38 turns, each with probability 1/2";
}

// With the same key neighbours get the same noise: what a release tells is its sum.
TEST(CyclicSums, NoiseDoesNotDependOnRecords) {
  World with(spec(4, band_of(Strategy::banded_blt, 4))), without(spec(4, band_of(Strategy::banded_blt, 4)));
  test::remove_record(without.shard.blocks[1].records, 3);
  for (const auto& moved : increments(difference(releases(with), releases(without)))) {
    const double size = std::sqrt(square(moved));
    EXPECT_LT(std::min(size, std::abs(size - 1)), 1e-4);
  }
}

// The rows of releases without records are independent normals of the query's deviation: the covariance of the sums
// is that of L C^-1. Traps: another band than the event's, noise that begins anew with a cycle.
TEST(CyclicSums, NoiseIsThatOfTheBand) {
  constexpr std::size_t dim = 20000;
  const double five = 5 / std::sqrt(static_cast<double>(dim));
  for (const Strategy strategy : {Strategy::banded, Strategy::banded_blt}) {
    World world(spec(dim, band_of(strategy, 3)));
    Releases sums;
    for (std::uint64_t t = 0; t < steps; ++t) {
      sums.push_back(world.release(t, test::nothing));
      for (double& x : sums.back()) x /= world.query.noise_std;
    }
    EXPECT_GE(world.query.noise_std, 2 * world.query.bound.clip);
    const Tree tree = world.query.as<RunningSum>()->tree(world.query);
    const Releases rows = rows_of(increments(sums), banded_coefficients(tree));
    for (std::size_t s = 0; s < steps; ++s)
      for (std::size_t t = 0; t <= s; ++t) {
        const double product =
            std::inner_product(rows[s].begin(), rows[s].end(), rows[t].begin(), 0.0) / static_cast<double>(dim);
        EXPECT_NEAR(product, s == t ? 1 : 0, s == t ? five * std::sqrt(2.0) : five) << s << ' ' << t;
      }
    const double last = square(sums.back()) / static_cast<double>(dim);
    EXPECT_NEAR(last, prefix_noise_variance(tree, steps), five * std::sqrt(2.0) * last);
  }
}

// One event, charged before the first release. Its multiplier is over the longest column, never rounded up.
TEST(CyclicSums, ARunIsOneEventOverTheLongestColumn) {
  for (const Strategy strategy : {Strategy::banded, Strategy::banded_blt}) {
    World world(spec(4, band_of(strategy, 4), 0.25));
    const Events events = world.query.events(0, steps);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].count, 1u);
    const auto& run = std::get<CyclicPoissonGaussian>(events[0].mechanism);
    EXPECT_EQ(run.steps, steps);
    EXPECT_EQ(run.groups, groups);
    EXPECT_EQ(run.band, 4u);
    EXPECT_EQ(run.sampling_rate, 0.25);
    const std::vector<double> c = banded_coefficients(world.query.as<RunningSum>()->tree(world.query));
    const double column = std::sqrt(std::inner_product(c.begin(), c.end(), c.begin(), 0.0));
    EXPECT_NEAR(run.noise_multiplier, 2 / column, 1e-12);
    EXPECT_LE(run.noise_multiplier, 2 / column);
    EXPECT_TRUE(world.query.events(1, steps).empty());
    EXPECT_EQ(world.query.events(0, 1), events);
    world.release(0, axes);
    EXPECT_EQ(world.ledger->events(), events);
  }
}

TEST(CyclicSums, RefuseWhatHasNoBound) {
  const auto declare = [](const QuerySpec& s) { return Query::declare(s, 0, Adjacency::add_remove, shape.count); };
  EXPECT_THROW(declare(spec(4, band_of(Strategy::banded, groups + 1))), BugError) << "rows that see two steps";
  EXPECT_THROW(declare(spec(4, RunningSum{.strategy = Strategy::sqrt_toeplitz})), BugError);
  QuerySpec of_persons = spec(4, band_of(Strategy::banded, 3));
  of_persons.slots_of_unit = 2;
  EXPECT_THROW(declare(of_persons), PrivacyError);
  QuerySpec follows = spec(4, band_of(Strategy::banded, 3));
  std::get<RunningSum>(follows.kind).adaptive = true;
  EXPECT_THROW(declare(follows), BugError);
  QuerySpec alone = spec(4, band_of(Strategy::banded, 3));
  alone.kind = Sum{};
  EXPECT_THROW(declare(alone), BugError);
}

}  // namespace
}  // namespace dpmpi::cyclic_sums_test
