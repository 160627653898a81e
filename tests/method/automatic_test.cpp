// Settings that methods find by themselves: of every rule allowed ones, and those that are given stay.
#include "method/automatic.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "method/method.hpp"

namespace dpmpi::automatic_test {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();
using Texts = std::map<std::string, std::string>;

Texts found(const std::string& method, const PublicNumbers& numbers, const Texts& given = {}) {
  const auto text_of = [&](const std::string& key) {
    const auto at = given.find(key);
    return at == given.end() ? std::nullopt : std::optional(at->second);
  };
  Texts all;
  for (const FoundSetting& setting : automatic_rule(method)->find(numbers, text_of).all)
    all[setting.key] = setting.text;
  return all;
}

double number(const Texts& all, const std::string& key) { return std::stod(all.at(key)); }

/// Whether the method's own options take these settings.
bool is_taken(const std::string& method, const Texts& settings) {
  const auto entry = std::ranges::find(methods(), method, &MethodEntry::name);
  const auto made = entry->make();
  Options options("method");
  made->declare(options);
  std::vector<std::string> problems;
  Settings as_given;
  for (const auto& [key, text] : settings) as_given["method." + key] = {.value = text, .origin = "here"};
  options.read(as_given, problems);
  made->validate(problems);
  for (const std::string& problem : problems) ADD_FAILURE() << method << ": " << problem;
  return problems.empty();
}

TEST(AutomaticSettings, OfEveryRuleAreAllowedWhateverTheNumbersAre) {
  ASSERT_GE(automatic_rules().size(), 2u);
  for (const AutomaticRule& rule : automatic_rules())
    for (const double n : {1.0, 7.0, 32561.0, 1e9})
      for (const double mu : {1e-12, 0.03, 5.0, endless})
        for (const double size : {1e-6, 1.0, 1e6})
          for (const LabelKind labels : {LabelKind::sign, LabelKind::real})
            for (const double d : {1.0, 63.0, 1e6})
              for (const bool network : {false, true}) {
                const PublicNumbers numbers{
                    .records = n, .size = size, .labels = labels, .mu = mu, .parameters = d, .network = network};
                const Texts all = found(rule.name, numbers);
                EXPECT_EQ(all.size(), rule.keys.size());
                EXPECT_LE(number(all, "batch"), n);
                ASSERT_TRUE(is_taken(rule.name, all)) << n << " " << mu << " " << size << " " << d;
              }
}

TEST(AutomaticSettings, ThatAreGivenStay) {
  const PublicNumbers numbers{.records = 20000, .size = 6, .mu = 0.3, .parameters = 500};
  for (const AutomaticRule& rule : automatic_rules()) {
    const Texts all = found(rule.name, numbers);
    for (const auto& [key, text] : all) {
      const Texts other = found(rule.name, numbers, {{key, text}});
      EXPECT_EQ(other.at(key), text) << rule.name << " " << key;
    }
  }
  EXPECT_EQ(number(found("zo-hidden", numbers, {{"steps", "250"}}), "steps"), 250);
  EXPECT_EQ(number(found("zo-hidden", numbers, {{"batch", "99"}}), "batch"), 99);
}

// d times the rate of gradients: a step moves by rate / d of them. Through all directions nothing is lost.
TEST(AutomaticSettings, OfDifferencesAreThoseOfGradients) {
  const PublicNumbers numbers{.records = 30000, .size = 1, .mu = 0.02, .parameters = 50};
  const Texts all = found("zo-hidden", numbers), gradient = found("dp-sgd", numbers, {{"schedule", "constant"}});
  EXPECT_EQ(number(all, "directions"), 50);
  EXPECT_EQ(all.at("batch"), gradient.at("batch"));
  EXPECT_EQ(all.at("clip"), gradient.at("clip"));
  EXPECT_NEAR(number(all, "rate"), 50 * number(gradient, "rate"), 2.6 * number(gradient, "rate"));
  const Texts few = found("zo-hidden", numbers, {{"directions", "2"}});
  EXPECT_NEAR(number(few, "clip"), number(all, "clip") / 5, 0.006) << "as two of 50 directions see a gradient";
  EXPECT_EQ(few.at("rate"), all.at("rate"));
}

TEST(AutomaticSettings, WithLittleNoiseStepsHaveAnEnd) {
  PublicNumbers numbers{.records = 1e9, .size = 2, .mu = 1, .parameters = 50};
  EXPECT_EQ(number(found("zo-hidden", numbers), "rate"), 16 * 50 / (0.25 * 4)) << "16 d / M";
  const Texts linear = found("dp-sgd", numbers);
  numbers.network = true;
  const Texts network = found("dp-sgd", numbers);
  EXPECT_LT(number(network, "rate") * number(network, "clip"), number(linear, "rate") * number(linear, "clip"));
}

TEST(AutomaticSettings, OfMethodsWithoutARuleAreNone) { EXPECT_EQ(automatic_rule("dp-ftrl"), nullptr); }

}  // namespace
}  // namespace dpmpi::automatic_test
