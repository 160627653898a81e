// Settings of dp-sgd from public numbers: they are always allowed, those that are given stay, and more data or
// budget give more signal.
#include "method/sgd/settings_rule.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace dpmpi::settings_rule_test {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

void expect_allowed(const PublicNumbers& facts) {
  const SettledSgd found = settle_sgd(facts);
  const auto text = ::testing::Message() << "n " << facts.records << " mu " << facts.mu << " R " << facts.size;
  EXPECT_GE(found.batch, 1) << text;
  EXPECT_LE(static_cast<double>(found.batch), facts.records) << text;
  EXPECT_TRUE(found.epochs >= 1 && found.epochs <= 125) << text << " epochs " << found.epochs;
  EXPECT_TRUE(found.rate > 0 && std::isfinite(found.rate)) << text << " rate " << found.rate;
  EXPECT_TRUE(found.clip > 0 && std::isfinite(found.clip)) << text << " clip " << found.clip;
  EXPECT_TRUE(found.efficiency > 0 && found.efficiency <= 1) << text << " efficiency " << found.efficiency;
  EXPECT_TRUE(found.signal > 0) << text;
  EXPECT_FALSE(std::isnan(noise_over_signal(facts, found.signal))) << text;
}

TEST(SettingsRule, IsAllowedWhateverTheNumbersAre) {
  for (const double n : {1.0, 2.0, 7.0, 100.0, 32561.0, 1e9, 1e15})
    for (const double mu : {1e-12, 1e-3, 0.03, 1.0, 5.0, 1e4, endless})
      for (const double size : {1e-6, 1.0, 28.0, 1e6})
        for (const LabelKind labels : {LabelKind::sign, LabelKind::real})
          for (const double multiplier : {0.0, 1e-3, 1e6})
            for (const bool full : {false, true})
              expect_allowed({.records = n,
                              .size = size,
                              .sensitivity = 2,
                              .labels = labels,
                              .mu = mu,
                              .noise_multiplier = multiplier,
                              .full = full});
}

TEST(SettingsRule, GivenValuesStay) {
  const PublicNumbers facts{.records = 20000, .size = 6, .mu = 0.3};
  const SettledSgd found = settle_sgd(facts, {.batch = 512, .epochs = 7.5, .clip = 0.3, .momentum = 0.5});
  EXPECT_EQ(found.batch, 512);
  EXPECT_EQ(found.epochs, 7.5);
  EXPECT_EQ(found.clip, 0.3);
  EXPECT_EQ(found.momentum, 0.5);
  EXPECT_EQ(found.steps, 293);
  EXPECT_EQ(settle_sgd(facts, {.rate = 3.0}).rate, 3.0);
}

TEST(SettingsRule, TheRateFollowsTheOtherSettings) {
  const PublicNumbers facts{.records = 20000, .size = 6, .mu = 0.3};
  const auto rate = [&](const SgdSettings& given) { return settle_sgd(facts, given).rate; };
  EXPECT_NEAR(rate({.momentum = 0.9}), 0.1 * rate({}), 0.011 * rate({}));
  EXPECT_NEAR(rate({.clip = 6.0}), rate({}) / 2, 0.06 * rate({}));
  EXPECT_NEAR(rate({.schedule = OptimizerSettings::Schedule::constant}), rate({}) / 2, 0.06 * rate({}));
}

// Twice the records, or twice the budget, halve the noise over the signal; persons of two records double it.
TEST(SettingsRule, NoiseOverSignal) {
  const auto noise = [](const PublicNumbers& facts) { return noise_over_signal(facts, settle_sgd(facts).signal); };
  const PublicNumbers facts{.records = 20000, .size = 6, .mu = 0.3, .parameters = 50};
  PublicNumbers more = facts, richer = facts, replaced = facts;
  more.records *= 2, richer.mu *= 2, replaced.sensitivity *= 2;
  EXPECT_NEAR(noise(more), noise(facts) / 2, 0.02 * noise(facts));
  EXPECT_NEAR(noise(richer), noise(facts) / 2, 0.05 * noise(facts));
  EXPECT_NEAR(noise(replaced), noise(facts) * 2, 0.02 * noise(facts));
  EXPECT_NEAR(noise(facts), std::sqrt(50.0) / (20000 * 0.3), 0.05 * noise(facts));
}

// The noise multiplier of Poisson steps stays where sampling amplifies: most of the budget's signal is left.
TEST(SettingsRule, StepsKeepTheSignal) {
  for (const double mu : {0.01, 0.1, 0.3, 1.0, 1.7}) {
    EXPECT_GT(settle_sgd({.records = 1e5, .mu = mu}).efficiency, mu > 1 ? 0.8 : 0.9) << mu;
    EXPECT_GE(settle_sgd({.records = 1e5, .mu = mu}).steps, 100) << mu;
  }
}

}  // namespace
}  // namespace dpmpi::settings_rule_test
