// The best of secretly many runs: what is released, its sensitivity, and what the curator does with runs that are
// not selected.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curator/part_world.hpp"
#include "privacy/curator/repetition_laws.hpp"
#include "run/directory/files.hpp"
#include "support/kolmogorov.hpp"

namespace dpmpi::best_of_runs_test {
namespace {

using test::binomial;
using test::PartWorld;
using test::poisson;

QuerySpec spec(RepetitionLaw law, double z = 1, std::uint64_t steps = 1) {
  return {.name = "best",
          .dim = 1,
          .sampling = FullBatch{},
          .bound = {1},
          .noise_multiplier = z,
          .steps = steps,
          .kind = BestOfRuns{law, 3}};
}

/// Adds the first feature, cut to [-1, 1], of every record.
Kernel features(double weight) {
  return [weight](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    for (const std::uint32_t i : rows.index) {
      const double v = std::clamp(weight * double{rows.records.row_f32(i)[0]}, -bound.clip, bound.clip);
      sum.begin(1);
      sum.add(0, std::span(&v, 1));
    }
  };
}

// The smallest of K sums of noise has the distribution 1 - f(1 - Phi), and the numbers of the selected run are
// uniform, independent of it and of each other.
TEST(BestOfRuns, ReleasesTheSmallestOfKRuns) {
  constexpr std::uint64_t releases = 3000;
  const double gamma = 0.25;
  PartWorld world(spec(binomial(1, gamma), 1, releases));
  std::vector<double> normal, uniform, product;
  for (std::uint64_t t = 0; t < releases; ++t) {
    const auto best = world.curator->best_of_runs(world.query, t, [](std::span<const double>) {
      return Repetition{[](const Rows&, const L2Bound&, LatticeAccumulator&) {}};
    });
    ASSERT_TRUE(best.any);
    const double above = std::erfc(best.sum / world.query.noise_std / std::sqrt(2.0)) / 2;  // 1 - Phi
    uniform.push_back(gamma * above / (1 - (1 - gamma) * above));                           // f
    for (const double u : best.uniforms) EXPECT_TRUE(u > 0 && u < 1);
    product.push_back(best.uniforms[0]);
    uniform.push_back(best.uniforms[2]);
  }
  for (auto* values : {&uniform, &product}) {
    std::sort(values->begin(), values->end());
    double distance = 0;
    const auto n = static_cast<double>(values->size());
    for (std::size_t i = 0; i < values->size(); ++i)
      distance = std::max(distance, std::abs((*values)[i] - (static_cast<double>(i) + 0.5) / n));
    EXPECT_GT(test::kolmogorov(std::sqrt(n) * distance), 1e-3);
  }
}

// A Poisson law may have no run: then nothing of the records is released.
TEST(BestOfRuns, MayHaveNoRun) {
  constexpr std::uint64_t releases = 400;
  PartWorld world(spec(poisson(1), 1, releases));
  double none = 0;
  for (std::uint64_t t = 0; t < releases; ++t) {
    int runs = 0;
    const auto best = world.curator->best_of_runs(world.query, t, [&](std::span<const double>) {
      ++runs;
      return Repetition{features(1)};
    });
    EXPECT_EQ(best.any, runs > 0);
    none += runs == 0 ? 1 : 0;
    if (!best.any) {
      EXPECT_EQ(best.sum, 0);
    }
  }
  EXPECT_NEAR(none / releases, std::exp(-1), 4 * std::sqrt(0.23 / releases));
}

// Exact sensitivity, in integers: a run's sum moves by the bound and its rounding at most.
TEST(BestOfRuns, ARecordMovesARunByAtMostTheSensitivity) {
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    std::vector<double> sums;
    double sensitivity = 0;
    for (const bool neighbour : {false, true}) {
      PartWorld world(spec(binomial(1, 0.999999)), adjacency);
      Records& records = world.shard.blocks[3].records;
      records.f32[5 * records.stride] = 1e30f;
      if (neighbour && adjacency == Adjacency::add_remove) test::remove_record(records, 5);
      if (neighbour && adjacency == Adjacency::replace_one) records.f32[5 * records.stride] = -1e30f;
      world.start();
      sums.push_back(
          world.curator
              ->best_of_runs(world.query, 0, [](std::span<const double>) { return Repetition{features(1)}; })
              .sum);
      sensitivity = world.query.sensitivity;
    }
    EXPECT_LE(std::abs(sums[0] - sums[1]), sensitivity);
    EXPECT_GT(std::abs(sums[0] - sums[1]), 0.999 * sensitivity);
  }
}

// The score decides, its public part included; what is released of it is the noisy sum.
TEST(BestOfRuns, SelectsBySumAndOffset) {
  PartWorld world(spec(binomial(1, 0.02), 1e-6));
  double least = 1e9;
  const auto best = world.curator->best_of_runs(world.query, 0, [&](std::span<const double> uniforms) {
    least = std::min(least, uniforms[0]);
    return Repetition{[](const Rows&, const L2Bound&, LatticeAccumulator&) {}, 1000 * uniforms[0]};
  });
  EXPECT_EQ(best.uniforms[0], least);
  EXPECT_LT(std::abs(best.sum), 1e-3);
}

// Plan, ledger and files: one event, nothing of the number of runs.
TEST(BestOfRuns, LedgerEqualsPlanAndSaysNothingOfTheRuns) {
  const auto line = [](std::uint64_t key) {
    PartWorld world(spec(binomial(1, 0.01), 3), Adjacency::replace_one, key);
    int runs = 0;
    world.curator->best_of_runs(world.query, 0, [&](std::span<const double>) {
      ++runs;
      return Repetition{features(1)};
    });
    EXPECT_EQ(world.ledger->events(), world.query.events(0, 1));
    EXPECT_EQ(world.ledger->events(),
              (std::vector<Event>{{RepeatAndSelect{binomial(1, 0.01), {{Gaussian{3}, 1}}}, 1}}));
    return std::pair(runs, read_file(world.path));
  };
  const auto a = line(1), b = line(2);
  EXPECT_NE(a.first, b.first);
  EXPECT_EQ(a.second, b.second) << "the ledger is that of any number of runs";
}

// A release that was interrupted and is done again is the same release; a second one is refused.
TEST(BestOfRuns, IsOneReleaseHoweverOftenItIsBegun) {
  PartWorld world(spec(binomial(1, 0.1)));
  const auto program = [](std::span<const double>) { return Repetition{features(1)}; };
  const auto content = [](const Selection& s) {
    return std::pair(s.sum, std::vector<double>(s.uniforms.begin(), s.uniforms.end()));
  };
  const auto first = content(world.curator->best_of_runs(world.query, 0, program));
  EXPECT_THROW(world.curator->best_of_runs(world.query, 0, program), PrivacyError);
  EXPECT_THROW(world.curator->best_of_runs(world.query, 1, program), PrivacyError) << "not in the plan";
  world.start();
  world.curator->resume_at(0);
  EXPECT_EQ(content(world.curator->best_of_runs(world.query, 0, program)), first);
  world.start();
  world.curator->resume_at(1);
  EXPECT_THROW(world.curator->best_of_runs(world.query, 0, program), PrivacyError);
}

TEST(BestOfRuns, RefusesNoiseWithoutAnalysis) {
  QuerySpec discrete = spec(binomial(1, 0.1));
  discrete.noise = Noise::discrete_gaussian;
  EXPECT_THROW(Query::declare(discrete, 0, Adjacency::add_remove, 100), PrivacyError);
}

}  // namespace
}  // namespace dpmpi::best_of_runs_test
