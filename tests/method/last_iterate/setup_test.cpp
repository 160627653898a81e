// zo-hidden: what its plan refuses, and what it chooses where settings leave a choice.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "method/last_iterate/settings.hpp"
#include "privacy/last_iterate/bounds.hpp"
#include "privacy/promise/guarantee.hpp"
#include "problems/last_iterate_trial.hpp"

namespace dpmpi::setup_test {
namespace {

using namespace test::hidden_trial;
using test::Trial;
using test::with;
using Settings = std::map<std::string, std::string>;

// What is refused, why, and what holds instead.
TEST(ZoHiddenSetup, RefusesWhatTheBoundDoesNotCover) {
  struct Case {
    std::string code;
    Settings changes;
  };
  const std::vector<Case> cases{
      {"HS-02", {{"clip", "0.2"}}},
      {"HS-03", {{"law", "sphere_iid"}, {"share", "-1"}}},
      {"HS-03", {{"law", "gauss"}, {"share", "-1"}}},
      {"HS-04", {{"ball", "0"}}},
      {"HS-05", {{"share", "1"}}},
      {"HS-06", {{"direction_seed", "3"}}},
      {"HS-09", {{"feature_bound", "0"}}},
      {"HS-09", {{"feature_bound", "0"}, {"i_have_proved", "1,0,1"}}},
      {"poisson", {{"sampling", "poisson"}, {"batch", "30"}}},
      {"finite differences", {{"radius", "0.4"}}},
  };
  const auto objective = logistic();
  for (const auto& [code, changes] : cases) {
    const auto settings = test::make_settings("zo-hidden", with(hidden, changes));
    PublicFacts facts{{300, 12, Storage::dense_f32}, objective.get(), Adjacency::replace_one};
    facts.delta = 1e-5, facts.noise_multiplier = 50;
    try {
      settings->plan(facts);
      ADD_FAILURE() << code << " was not refused";
    } catch (const PrivacyError& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find(code), std::string::npos) << text;
      EXPECT_NE(text.find("method.release = all"), std::string::npos) << text;
      if (code == "poisson") continue;  // other events
      const double epsilon = epsilon_guarantee({{Gaussian{50}, 400}}, Adjacency::replace_one, 1e-5, "best").epsilon;
      EXPECT_NE(text.find("epsilon = " + rounded_up(epsilon)), std::string::npos) << text;
    }
  }
}

TEST(ZoHiddenSetup, RefusesWhatItsTrustOrAdjacencyDoesNotAllow) {
  const auto objective = logistic();
  const auto settings = test::make_settings("zo-hidden", hidden);
  PublicFacts facts{{300, 12, Storage::dense_f32}, objective.get(), Adjacency::replace_one};
  facts.noise_multiplier = 50;
  EXPECT_NO_THROW(settings->plan(facts));
  facts.ranks_trusted = false;
  EXPECT_THROW(settings->plan(facts), PrivacyError);
  facts.ranks_trusted = true;
  facts.adjacency = Adjacency::add_remove;
  EXPECT_THROW(settings->plan(facts), PrivacyError);
}

TEST(ZoHiddenSetup, RefusesLossesThatNobodyCertified) {
  for (const char* name : {"mlp", "ramp"}) {
    std::vector<std::pair<std::string, std::string>> own;
    if (std::string(name) == "mlp") own = {{"objective.hidden", "5"}, {"objective.classes", "2"}};
    const auto objective = test::make_objective(name, {shape.features, shape.storage, shape.bias}, own);
    const auto settings = test::make_settings("zo-hidden", with(hidden, {{"rate", "1"}}));
    PublicFacts facts{{300, 12, Storage::dense_f32}, objective.get(), Adjacency::replace_one};
    facts.noise_multiplier = 50;
    try {
      settings->plan(facts);
      ADD_FAILURE() << name;
    } catch (const PrivacyError& e) {
      EXPECT_NE(std::string(e.what()).find("HS-01"), std::string::npos) << e.what();
    }
  }
}

// Declared constants that the loss does not keep are found out on synthetic records; true ones are not.
TEST(ZoHiddenSetup, ChecksDeclaredConstants) {
  for (const auto& [smoothness, lipschitz, holds] :
       {std::tuple{"0.25", "1", true}, {"0.02", "1", false}, {"0.25", "0.05", false}}) {
    const auto objective = logistic();
    const auto settings = test::make_settings(
        "zo-hidden", with(hidden, {{"i_have_proved", std::string(smoothness) + ",0," + lipschitz}}));
    PublicFacts facts{{300, 12, Storage::dense_f32}, objective.get(), Adjacency::replace_one};
    facts.noise_multiplier = 50;
    const auto plan = settings->plan(facts);
    EXPECT_EQ(plan->assumptions.at(0).find("user asserted") != std::string::npos, true);
    if (holds)
      EXPECT_NO_THROW(plan->check_assumptions(*objective)) << smoothness;
    else
      EXPECT_THROW(plan->check_assumptions(*objective), PrivacyError) << smoothness << " " << lipschitz;
  }
}

// A slot may be empty and a record not finite: then the mean loss is less curved than every loss was declared to
// be.
TEST(ZoHiddenSetup, CountsOnNoCurvatureAboveZero) {
  const auto with_curvature = [](const char* lower) {
    const auto t = trial(with(hidden, {{"i_have_proved", "0.25," + std::string(lower) + ",1"}}), 50);
    EXPECT_DOUBLE_EQ(t.derived("h"), 4) << "1 / M";
    return t.derived("c");
  };
  EXPECT_EQ(with_curvature("0.1"), 1);
  EXPECT_EQ(with_curvature("0"), 1);
  EXPECT_NEAR(with_curvature("-0.1"), 1.4, 1e-12);
}

// Squared losses are as steep as labels are large, whatever was declared.
TEST(ZoHiddenSetup, BoundsLabelsOfDeclaredLosses) {
  const auto objective = test::make_objective("squared", {shape.features, shape.storage, shape.bias});
  PublicFacts facts{{300, 12, Storage::dense_f32}, objective.get(), Adjacency::replace_one};
  facts.noise_multiplier = 50;
  const Settings declared = with(hidden, {{"i_have_proved", "1,0,2"}, {"rate", "1"}});
  EXPECT_THROW(test::make_settings("zo-hidden", declared)->plan(facts), PrivacyError);
  EXPECT_NO_THROW(test::make_settings("zo-hidden", with(declared, {{"label_bound", "1"}}))->plan(facts));
}

// Losses that are read at float32 points have an error L R / (2^24 xi) beside that of the curvature.
TEST(ZoHiddenSetup, ChoosesTheRadiusOfDeclaredLosses) {
  std::vector<std::pair<std::string, std::string>> network{{"objective.hidden", "3"}, {"objective.classes", "2"}};
  const auto objective = test::make_objective("mlp", {shape.features, shape.storage, shape.bias}, network);
  PublicFacts facts{{20, 12, Storage::dense_f32}, objective.get(), Adjacency::replace_one};
  facts.noise_multiplier = 50;
  const Settings declared = with(hidden, {{"feature_bound", "0"}, {"i_have_proved", "2,0,3"}});
  const auto radius = [&](const Settings& given) {
    const auto plan = test::make_settings("zo-hidden", given)->plan(facts);
    for (const auto& [key, value] : plan->report_quantities(test::queries_of(*plan, facts, 50)))
      if (key == "xi") return std::get<double>(value);
    return 0.0;
  };
  EXPECT_NEAR(radius(declared), std::sqrt(4 * 0x1p-24 * 3 * 0.5 / 2), 1e-12);
  EXPECT_EQ(radius(with(declared, {{"radius", "3e-4"}})), 3e-4);
  EXPECT_THROW(radius(with(declared, {{"radius", "1e-9"}})), PrivacyError) << "rounding";
}

// A window that is asked for where no share of the noise makes it better than composition.
// On average a step is that of gradient descent by 1 / M, which is 4 here. d = 13, with the bias.
TEST(ZoHiddenSetup, TakesTheStepOfGradientDescentByComposition) {
  const Settings settings = with(composed, {{"rate", "0"}, {"feature_bound", "1"}});
  EXPECT_DOUBLE_EQ(trial(settings, 50).derived("eta"), 13 * 4);
  for (const char* const law : {"sphere_sqrtd", "gauss"})
    EXPECT_DOUBLE_EQ(trial(with(settings, {{"law", law}}), 50).derived("eta"), 4) << law;
  EXPECT_DOUBLE_EQ(trial(with(hidden, {}), 50).derived("eta"), 4 * 4) << "K / M where iterates are hidden";
  auto regularised = logistic();
  regularised->l2 = 0.75;
  const Trial t("zo-hidden", settings, 50, std::move(regularised), test::random_shard(shape, 2));
  EXPECT_DOUBLE_EQ(t.derived("eta"), 13) << "M + l2 is 1";
}

TEST(ZoHiddenSetup, FallsBackToCompositionWhereNoWindowHelps) {
  Settings settings = with(hidden, {{"steps", "5"}, {"window", "3"}});
  settings.erase("share");
  const auto t = trial(settings, 50);
  EXPECT_EQ(t.queries[0].events(0, 5), (std::vector<Event>{{Gaussian{50}, 5}}));
}

// With a failure probability for clips the automatic clip is smaller, and the event says so.
TEST(ZoHiddenSetup, SmallerClipsCostDelta) {
  const auto sure = trial(hidden, 50), likely = trial(with(hidden, {{"clip_failure", "1e-6"}}), 50);
  EXPECT_LT(likely.derived("C"), sure.derived("C"));
  EXPECT_EQ(likely.queries[0].as<LastIterateRun>()->run.failure, 1e-6);
  EXPECT_EQ(sure.queries[0].as<LastIterateRun>()->run.failure, 0);
}

// Plans say so before anything is charged.
TEST(ZoHiddenSetup, RefusesIsotropicNoiseBelowTheLattice) {
  const auto t = trial(hidden, 50);
  EXPECT_LT(t.derived("kappa"), 1e-6);
  EXPECT_GT(t.derived("kappa"), 0);
  const auto objective = logistic();
  const auto settings = test::make_settings("zo-hidden", with(hidden, {{"share", "0.9999999999999999"}}));
  PublicFacts facts{{300, 12, Storage::dense_f32}, objective.get(), Adjacency::replace_one};
  facts.noise_multiplier = 50;
  const auto plan = settings->plan(facts);
  EXPECT_THROW(plan->report_quantities(test::queries_of(*plan, facts, 50)), PrivacyError);
}

// Lengths, releases, and constants that are declared in part.
TEST(ZoHiddenSetup, KeepsSettingsInRange) {
  for (const auto& [key, value, good] : {std::tuple{"ball", "1e-200", false},
                                         {"ball", "1e200", false},
                                         {"ball", "1e-30", true},
                                         {"rate", "1e200", false},
                                         {"release", "2", true},
                                         {"release", "1", false},
                                         {"release", "-3", false},
                                         {"release", "25 steps", false},
                                         {"i_have_proved", "1,1", false},
                                         {"i_have_proved", "1,0,0", false},
                                         {"i_have_proved", "0,0,1", false},
                                         {"i_have_proved", "1,-2,1", true}}) {
    LastIterateSettings settings;
    Options declared("method");
    settings.declare(declared);
    std::vector<std::string> problems;
    declared.read({{std::string("method.") + key, {value, "test"}}}, problems);
    settings.validate(problems);
    EXPECT_EQ(problems.empty(), good) << key << " = " << value;
  }
}

// A public partition whose pass has room for one part takes the same records in every step: nothing is amplified.
TEST(ZoHiddenSetup, OnePartOfMostRecordsIsNoFreshSample) {
  for (const char* sampling : {"shuffle_once", "reshuffle"}) {
    const auto one = trial(with(hidden, {{"sampling", sampling}, {"batch", "180"}}), 50);
    const auto events = one.queries[0].events(0, 400);
    const auto& run = std::get<HiddenState>(events.at(0).mechanism);
    EXPECT_FALSE(run.sampled()) << sampling;
    EXPECT_NEAR(run.drift, 180, 1e-4) << "the sum is divided by the batch";
    // Who sees every iterate: 100 steps with f = 1 and 300 with noise everywhere, each of which may use the record.
    const double f = 0.4, both = f + (1 - f) * 4 / 13;
    EXPECT_NEAR(composition_mu(run), std::sqrt(100 + 300 / both) / 50, 1e-9) << sampling;
  }
}

}  // namespace
}  // namespace dpmpi::setup_test
