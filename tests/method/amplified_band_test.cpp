#include "method/amplified_band.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curves/strategy.hpp"
#include "privacy/promise/calibrate.hpp"

namespace dpmpi::amplified_band_test {
namespace {

using Choice = CorrelatedNoiseSettings::Choice;

CorrelatedNoiseSettings settings(Choice strategy, std::int64_t band = 64) {
  CorrelatedNoiseSettings result;
  result.strategy = strategy;
  result.band = band;
  return result;
}

CyclicRun run_at(double epsilon) {
  return {.records = 32561, .steps = 640, .batch = 1024, .dim = 124, .epsilon = epsilon, .delta = 1e-5};
}

// The noise of a prefix at the promise, by the tight accountant.
double noise_at_promise(const AmplifiedBand& band, const CyclicRun& run) {
  const auto events = [&](double z) {
    return std::vector<Event>{
        {CyclicPoissonGaussian{run.steps, band.sampling.groups, band.running.band, band.sampling.rate, z}, 1}};
  };
  const double z = calibrate_noise(events, {run.epsilon, run.delta, run.adjacency}, "pld").value;
  const Tree tree = tree_of(band.running, run.steps);
  return z * std::sqrt(squared_sensitivity(tree) * mean_prefix_noise_variance(tree));
}

TEST(AmplifiedBand, TakesTheGroupsOfLeastNoiseAtThePromise) {
  for (const double epsilon : {0.5, 8.0}) {
    const CyclicRun run = run_at(epsilon);
    const AmplifiedBand chosen = settled_band(settings(Choice::automatic), 0, run);
    EXPECT_EQ(chosen.running.band, chosen.sampling.groups);
    EXPECT_DOUBLE_EQ(chosen.sampling.rate, static_cast<double>(chosen.sampling.groups) * 1024 / 32561);
    const double noise = noise_at_promise(chosen, run);
    for (const std::uint64_t groups : {1U, 2U, 3U, 4U, 8U, 16U, 31U})
      for (const Choice strategy : {Choice::banded, Choice::banded_blt})
        EXPECT_LT(noise, 1.01 * noise_at_promise(settled_band(settings(strategy), groups, run), run))
            << epsilon << ' ' << groups;
  }
}

// Amplification is worth less where the promise is weak.
TEST(AmplifiedBand, TakesMoreGroupsForAWeakerPromise) {
  std::uint64_t before = 0;
  for (const double epsilon : {0.5, 2.0, 8.0}) {
    const auto groups = settled_band(settings(Choice::automatic), 0, run_at(epsilon)).sampling.groups;
    EXPECT_GE(groups, before) << epsilon;
    before = groups;
  }
  EXPECT_GT(before, 4u);
}

TEST(AmplifiedBand, IsNoLongerThanTheCycleAndTheSettings) {
  const AmplifiedBand few = settled_band(settings(Choice::banded, 3), 8, run_at(1));
  EXPECT_EQ(few.running.band, 3u);
  EXPECT_EQ(few.sampling.groups, 8u);
  EXPECT_EQ(settled_band(settings(Choice::banded_blt), 8, run_at(1)).running.band, 8u);
  EXPECT_LE(settled_band(settings(Choice::automatic, 3), 0, run_at(8)).sampling.groups, 3u);
}

TEST(AmplifiedBand, RefusesWhatHasNoBandOrTooFewRecords) {
  EXPECT_THROW(settled_band(settings(Choice::blt), 4, run_at(1)), ConfigError);
  EXPECT_THROW(settled_band(settings(Choice::banded), 32, run_at(1)), ConfigError) << "31 batches are all records";
  EXPECT_NO_THROW(settled_band(settings(Choice::banded), 31, run_at(1)));
  EXPECT_THROW(settled_band(settings(Choice::banded), 0, run_at(0)), ConfigError) << "no promise to choose for";
  CyclicRun in_the_clear = run_at(0);
  in_the_clear.is_private = false;
  EXPECT_EQ(settled_band(settings(Choice::automatic), 0, in_the_clear).sampling.groups, 1u);
  CyclicRun brief = run_at(1);
  brief.steps = 3;
  EXPECT_THROW(settled_band(settings(Choice::banded), 4, brief), ConfigError);
}

TEST(AmplifiedBand, ListsWhatItCompared) {
  const CyclicRun run = run_at(1);
  const auto all = band_alternatives(settings(Choice::automatic), 0, run);
  const auto taken = std::ranges::find_if(all, [](const NoiseAlternative& a) { return a.taken; });
  ASSERT_NE(taken, all.end());
  EXPECT_EQ(std::ranges::count_if(all, [](const NoiseAlternative& a) { return a.taken; }), 1);
  for (const NoiseAlternative& a : all) EXPECT_LE(taken->error, a.error) << a.settings;
  EXPECT_EQ(all.front().settings, "banded, band 1, 1 group");
  const auto fixed = band_alternatives(settings(Choice::automatic), 7, run);
  EXPECT_EQ(fixed.size(), all.size() + 1);
  EXPECT_TRUE(fixed.back().taken);
  EXPECT_TRUE(band_alternatives(settings(Choice::banded), 4, run_at(0)).empty());
}

}  // namespace
}  // namespace dpmpi::amplified_band_test
