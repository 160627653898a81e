#include "method/correlated_noise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curator/prefix_noise.hpp"
#include "privacy/curves/strategy.hpp"

namespace dpmpi::correlated_noise_test {
namespace {

using Choice = CorrelatedNoiseSettings::Choice;
using Participation = CorrelatedNoiseSettings::Participation;

CorrelatedNoiseSettings choose(Choice strategy, Participation participation = Participation::restart) {
  CorrelatedNoiseSettings settings;
  settings.strategy = strategy;
  settings.participation = participation;
  return settings;
}

// By hand: ten passes of independent noise, mu^2 = 10 / z^2 either way, and t leaves of variance z^2 after t steps.
TEST(CorrelatedNoise, OfIndependentLeavesIsThatOfTheirSum) {
  const SumsOfRun run{.leaves = 31, .passes = 10, .dim = 5};
  double mean = 0;
  for (int t = 1; t <= 310; ++t) mean += t / 310.0;
  for (const auto participation : {Participation::restart, Participation::continue_}) {
    const RunningSum rule = choose(Choice::identity, participation).settled(run);
    EXPECT_EQ(rule.passes, participation == Participation::restart ? 1u : 10u);
    EXPECT_NEAR(noise_of_run(rule, run), std::sqrt(10 * mean), 1e-9);
  }
}

// Sums that ended leave the noise of their last prefix: two of three leaves, in each of two passes.
TEST(CorrelatedNoise, AddsWhatEarlierSumsLeft) {
  const SumsOfRun run{.leaves = 3, .sums = 2, .passes = 2, .dim = 5};
  const RunningSum rule = choose(Choice::fenwick).settled(run);
  const double prefixes = (1 + 1 + 2) / 3.0, before = (0 + 1 + 2 + 3) / 4.0 * 2;  // node 3 and node 2 at the end
  EXPECT_NEAR(noise_of_run(rule, run), std::sqrt(2 * 2 * (prefixes + before)), 1e-12);
}

TEST(CorrelatedNoise, AutoTakesTheLeastThatFits) {
  for (const SumsOfRun& run : {SumsOfRun{.leaves = 31, .passes = 10, .dim = 100},
                               {.leaves = 2000, .dim = 100},
                               {.leaves = 2000, .dim = 200'000'000},
                               {.leaves = 10, .sums = 3, .passes = 2, .dim = 1},
                               {.leaves = 1, .dim = 1}}) {
    const CorrelatedNoiseSettings any = choose(Choice::automatic, Participation::automatic);
    const RunningSum taken = any.settled(run);
    const auto all = any.alternatives(run);
    EXPECT_TRUE(noise_can_be_kept(tree_of(taken, run.leaves), run.dim));
    EXPECT_TRUE(std::ranges::any_of(all, &NoiseAlternative::taken));
    for (const auto& other : all) {
      const bool kept = other.settings.find("above 4 GB") == std::string::npos;
      EXPECT_EQ(kept, 8.0 * static_cast<double>(other.rows) * static_cast<double>(run.dim) <= 4e9)
          << other.settings;
      if (kept) {
        EXPECT_GE(other.error, noise_of_run(taken, run) * (1 - 1e-12)) << other.settings;
      }
      if (other.taken) {
        EXPECT_EQ(other.error, noise_of_run(taken, run)) << other.settings;
      }
    }
  }
}

TEST(CorrelatedNoise, ContinuingOverTenPassesIsWorthIt) {
  const SumsOfRun run{.leaves = 31, .passes = 10, .dim = 100};
  const auto noise = [&](Choice choice, Participation participation) {
    return noise_of_run(choose(choice, participation).settled(run), run);
  };
  EXPECT_LT(noise(Choice::blt, Participation::continue_),
            0.75 * noise(Choice::sqrt_toeplitz, Participation::restart));
  EXPECT_LT(noise(Choice::blt, Participation::continue_), noise(Choice::sqrt_toeplitz, Participation::continue_));
  EXPECT_EQ(choose(Choice::fenwick, Participation::automatic).settled(run).passes, 1u);
  EXPECT_EQ(choose(Choice::blt, Participation::automatic).settled(run).passes, 10u);
}

TEST(CorrelatedNoise, RefusesToContinueWhatCannot) {
  const SumsOfRun passes{.leaves = 31, .passes = 10, .dim = 5},
      sums{.leaves = 31, .sums = 2, .passes = 10, .dim = 5}, many{.leaves = 2, .passes = 257, .dim = 5};
  EXPECT_THROW(choose(Choice::fenwick, Participation::continue_).settled(passes), ConfigError);
  EXPECT_THROW(choose(Choice::full_honaker, Participation::continue_).settled(passes), ConfigError);
  EXPECT_THROW(choose(Choice::blt, Participation::continue_).settled(sums), ConfigError);
  EXPECT_THROW(choose(Choice::sqrt_toeplitz, Participation::continue_).settled(many), ConfigError);
  EXPECT_EQ(choose(Choice::blt, Participation::continue_).settled(many).passes, 257u);
  EXPECT_EQ(choose(Choice::fenwick, Participation::continue_).settled({.leaves = 31, .dim = 5}).passes, 1u);
}

}  // namespace
}  // namespace dpmpi::correlated_noise_test
