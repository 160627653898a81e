// What methods do if a config says no rate: they take one that follows from public numbers, and plans name it.
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "privacy/curves/strategy.hpp"
#include "problems/trial.hpp"

namespace dpmpi::default_rates_test {
namespace {

using test::Trial;
using Given = std::map<std::string, std::string>;

struct Case {
  const char* method;
  const char* objective;
  const char* symbol;  ///< of the rate in plans
  Given options;
};

const Case cases[] = {
    {"dp-sgd", "logistic", "eta", {{"batch", "60"}, {"steps", "6"}, {"clip", "0.5"}}},
    {"dp-sgd", "logistic", "eta", {{"batch", "60"}, {"steps", "6"}, {"schedule", "linear"}, {"momentum", "0.5"}}},
    {"dp-sgd", "logistic", "eta", {{"batch", "60"}, {"steps", "6"}, {"optimizer", "adam"}}},
    {"dp-ftrl", "logistic", "eta", {{"batch", "50"}, {"passes", "2"}, {"clip", "0.5"}}},
    {"dp-sgda", "auc", "eta_x", {{"batch", "60"}, {"steps", "6"}}},
    {"dptd", "auc", "eta_x", {{"batch", "60"}, {"steps", "6"}}},
    {"private-diff", "auc", "eta_x", {{"batch", "60"}, {"steps", "6"}, {"restart", "3"}}},
    {"dp-sgd", "logistic", "eta", {{"batch", "60"}, {"steps", "6"}, {"optimizer", "adam_bc"}}},
};

Trial trial(const Case& c, const Given& more = {}, unsigned records = 1, double multiplier = 3) {
  const test::RecordsShape shape{Storage::dense_f32, 300, 6, 1, LabelKind::sign};
  std::vector<std::pair<std::string, std::string>> of_objective;
  if (c.objective == std::string("auc")) of_objective.emplace_back("objective.prior", "0.3");
  return Trial(c.method, test::with(c.options, more), multiplier,
               test::make_objective(c.objective, {shape.features, shape.storage, shape.bias}, of_objective),
               test::random_shard(shape, 2, 0, 1, records), Adjacency::add_remove);
}

std::vector<float> trained(Trial trial) {
  trial.run();
  return trial.iterate();
}

TEST(DefaultRates, AreTheOnesThatPlansName) {
  for (const Case& c : cases) {
    const double rate = trial(c).derived(c.symbol);
    const Given named{{"rate", fmt::format("{:.17g}", rate)}};
    EXPECT_EQ(trial(c, named).derived(c.symbol), rate) << c.method;
    const std::vector<float> by_default = trained(trial(c));
    EXPECT_EQ(by_default, trained(trial(c, named))) << c.method;
  }
}

TEST(DefaultRates, DependOnNoRecord) {
  for (const Case& c : cases) EXPECT_EQ(trial(c).derived(c.symbol), trial(c, {}, 2).derived(c.symbol)) << c.method;
}

TEST(DefaultRates, GiveWayToTheConfig) {
  for (const Case& c : cases) EXPECT_EQ(trial(c, {{"rate", "0.125"}}).derived(c.symbol), 0.125) << c.method;
}

TEST(DefaultRates, KeepTheNoiseOfARunWithinAFifth) {
  const Trial sgd = trial(cases[0]);
  EXPECT_DOUBLE_EQ(sgd.derived("eta"), 0.2 * 60 / (std::sqrt(6.0) * sgd.queries[0].noise_std));
  const Trial sgda = trial(cases[4]);
  EXPECT_DOUBLE_EQ(sgda.derived("eta_x"), 0.2 * 60 / (std::sqrt(6.0) * sgda.queries[0].noise_std));
  const Trial ftrl = trial(cases[3]);
  EXPECT_DOUBLE_EQ(ftrl.derived("eta"),
                   0.2 * 50 / (std::sqrt(2 * ftrl.derived("mean_prefix_variance")) * ftrl.queries[0].noise_std));
}

// Two blocks of three rounds. The noise of a restart counts three times; that of differences, clipped at a tenth of
// a gradient's clip, twice and once.
TEST(DefaultRates, OfPrivateDiffCountNoiseAsOftenAsItActs) {
  const Trial diff = trial(cases[6]);
  const double restart = 3 * diff.queries[0].noise_std, difference = 0.05 * diff.queries[1].noise_std;
  const double square = 2 * (restart * restart + (4 + 1) * difference * difference);
  EXPECT_DOUBLE_EQ(diff.derived("eta_x"), 0.2 * 60 / std::sqrt(square));
}

// A fifth of a length-scale of noise in all steps, and a length-scale a step.
TEST(DefaultRates, OfGiboAreInUnitsOfItsLengthscale) {
  const Case gibo{"gibo", "logistic", "eta", {{"steps", "4"}, {"clip", "2"}, {"lengthscale", "0.5"}}};
  const Trial noisy = trial(gibo, {}, 1, 100);
  EXPECT_DOUBLE_EQ(noisy.derived("eta"), 0.5 * 0.2 / (noisy.derived("s") * std::sqrt(4.0)));
  EXPECT_EQ(trial(gibo, {}, 1, 0).derived("eta"), 0.5 / 2);
  EXPECT_EQ(trial(gibo, {{"step", "adagrad"}}).derived("eta"), 0.3 * 0.5);
  EXPECT_EQ(trial(gibo, {{"eta", "7"}}).derived("eta"), 7);
}

TEST(DefaultRates, WithoutNoiseMoveByFourClips) {
  for (const std::size_t i : {0U, 3U, 4U, 6U}) {
    const Case& c = cases[i];
    const auto clip = c.options.find("clip");
    EXPECT_EQ(trial(c, {}, 1, 0).derived(c.symbol), clip == c.options.end() ? 4 : 8) << c.method;
  }
}

}  // namespace
}  // namespace dpmpi::default_rates_test
