// What the methods for heavy tails say of settings that they refuse: which option, its value, what is allowed.
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "problems/trial.hpp"
#include "support/text.hpp"

namespace dpmpi::messages_test {
namespace {

using Choices = std::map<std::string, std::string>;

std::unique_ptr<MethodSettings> make(const std::string& name) {
  for (const auto& entry : methods())
    if (entry.name == name) return entry.make();
  return nullptr;
}

/// All that is said before the data are looked at.
std::vector<std::string> problems_of(const std::string& method, const Choices& settings) {
  const auto made = make(method);
  Options options("method");
  made->declare(options);
  Settings all;
  for (const auto& [key, value] : settings) all["method." + key] = {value, "test.ini:7"};
  std::vector<std::string> problems;
  options.read(all, problems);
  check_unknown(all, {&options}, problems);
  made->validate(problems);
  return problems;
}

using test::contains;

constexpr const char* names[] = {"clipped-gd", "ht-glm", "ht-smooth", "ht-localize", "ht-known-lipschitz"};

// Every option by itself, and all together.
TEST(HeavyTailMessages, OptionsOutOfRangeAreNamedAllAtOnce) {
  for (const char* name : names) {
    const auto method = make(name);
    Options options("method");
    method->declare(options);
    Choices wrong;
    for (const auto& option : options.declarations()) wrong[option.name.substr(7)] = "nan";
    const auto problems = problems_of(name, wrong);
    for (const auto& option : options.declarations())
      EXPECT_EQ(std::ranges::count_if(problems,
                                      [&](const std::string& text) {
                                        return contains(text, "test.ini:7: " + option.name + " = nan") &&
                                               contains(text, option.allowed);
                                      }),
                1)
          << name << " " << option.name;
  }
}

struct Bad {
  const char* method;
  Choices settings;
  std::vector<std::string> said;  ///< what the problems say, one part for each of them
};
TEST(HeavyTailMessages, OptionsThatContradictOneAnother) {
  const std::vector<Bad> table = {
      {"clipped-gd", {{"rate", "0"}}, {"method.rate = 0"}},
      {"clipped-gd", {{"clip", "2"}}, {"method.clip = 2"}},
      {"clipped-gd", {{"clip_rule", "fixed"}}, {"method.clip = 0"}},
      {"clipped-gd", {{"clip_rule", "fixed"}, {"rate", "0"}}, {"method.clip = 0", "method.rate = 0"}},
      {"clipped-gd", {{"rates", "0"}, {"steps", "0"}}, {"unknown key method.rates", "method.steps = 0"}},
      {"ht-glm", {{"g2", "3"}}, {"method.gk = 2"}},
      {"ht-glm", {{"g2", "3"}, {"mode", "implicit"}}, {"method.gk = 2", "method.mode = implicit"}},
      {"ht-smooth", {{"g1", "9"}}, {"method.g1 = 9"}},
      {"ht-smooth", {{"g1", "9"}, {"hits", "0.5"}}, {"method.g1 = 9", "method.hits = 0.5"}},
      {"ht-localize", {{"g1", "9"}}, {"method.g1 = 9"}},
      {"ht-known-lipschitz", {{"g2", "9"}}, {"method.g2 = 9"}},
      {"ht-known-lipschitz", {{"g2", "9"}, {"growth", "4"}}, {"method.g2 = 9", "method.growth = 4"}},
  };
  for (const auto& [method, settings, said] : table) {
    const auto problems = problems_of(method, settings);
    EXPECT_EQ(problems.size(), said.size()) << method;
    for (const auto& part : said)
      EXPECT_TRUE(std::ranges::any_of(problems, [&](const std::string& text) { return contains(text, part); }))
          << method << ": " << part;
  }
}

struct Case {
  std::string objective = "logistic";
  std::vector<std::pair<std::string, std::string>> of_objective = {};
  double l2 = 0;
  std::uint64_t records = 400;
  double multiplier = 2, epsilon = 0;
  std::size_t features = 5;
  Adjacency adjacency = Adjacency::replace_one;
};

/// What planning refuses, or "".
std::string refusal(const std::string& name, const Choices& settings, const Case& c) {
  const auto objective = test::make_objective(c.objective, {c.features, Storage::dense_f32, 1}, c.of_objective);
  objective->l2 = c.l2;
  const auto chosen = test::make_settings(name, settings);
  PublicFacts facts{{c.records, c.features, Storage::dense_f32}, objective.get(), c.adjacency, 1 / c.multiplier};
  facts.epsilon = c.epsilon;
  facts.noise_multiplier = c.epsilon > 0 ? 0 : c.multiplier;
  try {
    const auto plan = chosen->plan(facts);
    const auto queries = test::queries_of(*plan, facts, c.multiplier);
    plan->report_quantities(queries);
    plan->notes(queries);
  } catch (const ConfigError& e) {
    return e.what();
  } catch (const PrivacyError& e) {
    return e.what();
  }
  return "";
}

struct BadPlan {
  const char* method;
  Choices settings;
  Case facts;
  std::vector<std::string> said;  ///< parts of the message, which has a line for each problem
};
TEST(HeavyTailMessages, PlansNameTheOptionItsValueAndWhatIsAllowed) {
  const std::vector<std::pair<std::string, std::string>> classes = {{"objective.classes", "3"}};
  const std::vector<BadPlan> table = {
      {"clipped-gd",
       {{"sampling", "poisson"}, {"batch", "401"}},
       {},
       {"method.batch = 401 must be at most n = 400"}},
      {"clipped-gd",
       {{"sampling", "poisson"}, {"batch", "401"}},
       {.objective = "auc", .of_objective = {{"objective.prior", "0.5"}}},
       {"method.batch = 401", "objective.name", "dp-sgda"}},
      {"ht-glm", {}, {.objective = "softmax", .of_objective = classes}, {"objective.name", "must be squared"}},
      {"ht-glm", {}, {.objective = "sigmoid"}, {"objective.name", "must be squared"}},
      {"ht-glm",
       {{"batch", "101"}},
       {.objective = "sigmoid", .l2 = 0.1},
       {"objective.name", "method.batch = 101", "at most 100", "objective.l2 = 0.1", "must be 0"}},
      {"ht-glm", {}, {.records = 3}, {"data.train has 3 records", "at least 4"}},
      {"ht-glm", {{"mode", "explicit"}}, {.objective = "absolute"}, {"method.mode = explicit", "auto or proximal"}},
      {"ht-glm",
       {{"gk", "1e-12"}, {"g2", "1e-12"}, {"radius", "1e30"}},
       {.multiplier = 1e-25},
       {"method.radius = 1e+30", "must be smaller"}},
      {"ht-smooth", {}, {}, {"objective.name", "mean or softmax", "ht-glm"}},
      {"ht-smooth",
       {{"batch", "101"}},
       {.objective = "softmax", .of_objective = classes, .l2 = 0.1},
       {"method.feature_bound = 0", "above 0", "objective.l2 = 0.1", "method.batch = 101", "at most 100"}},
      {"ht-smooth",
       {{"rate", "3"}, {"clip", "1"}},
       {.objective = "mean"},
       {"method.rate", "slack", "clipped-gd or ht-localize"}},
      {"ht-smooth",
       {{"rate", "1e-30"}, {"clip", "1e-3"}},
       {.objective = "mean"},
       {"method.rate", "method.clip", "method.radius = 1"}},
      {"ht-smooth",
       {{"mode", "guarded"}, {"rate", "1e-3"}, {"clip", "1e-3"}, {"gk", "1e6"}},
       {.objective = "mean"},
       {"method.hits", "method.gk", "2^31"}},
      {"ht-localize", {{"folds", "201"}}, {}, {"method.folds", "= 201", "in [1, 200]: half of the 400 records"}},
      {"ht-localize", {}, {.records = 1}, {"data.train) = 1", "at least 2"}},
      {"ht-localize",
       {{"folds", "0"}, {"fail_prob", "1e-06"}},
       {.records = 20},
       {"method.folds (0: as many as method.fail_prob", "in [1, 10]"}},
      {"ht-localize",
       {{"strong_convexity", "1e-9"}},
       {.records = 2},
       {"method.strong_convexity = 1e-09", "at least"}},
      {"ht-localize", {{"strong_convexity", "1"}, {"folds", "150"}}, {}, {"method.folds", "= 150"}},
      {"ht-localize", {{"steps", "0"}}, {.multiplier = 1e-9}, {"method.steps = 0", "at most 2^62"}},
      {"ht-localize",
       {},
       {.objective = "auc", .of_objective = {{"objective.prior", "0.5"}}},
       {"objective.name", "dp-sgda"}},
      {"ht-known-lipschitz", {}, {.objective = "mean"}, {"objective.name", "must be squared"}},
      {"ht-known-lipschitz", {}, {.records = 1}, {"data.train) = 1", "at least 2"}},
      {"ht-known-lipschitz",
       {{"certificate", "1e-14"}},
       {.objective = "absolute"},
       {"method.certificate = 1e-14", "at least", "method.smoothing = 0.02"}},
      {"ht-known-lipschitz",
       {{"strong_convexity", "1e-9"}},
       {.records = 2},
       {"method.strong_convexity = 1e-09", "at least"}},
  };
  for (const auto& [method, settings, facts, said] : table) {
    const std::string text = refusal(method, settings, facts);
    for (const auto& part : said) EXPECT_TRUE(contains(text, part)) << method << ": " << part << " in: " << text;
  }
}

// Settings at the ends of what options take, on few and many records: whatever is refused is refused in terms of
// options.
TEST(HeavyTailMessages, EveryRefusalNamesAnOption) {
  const std::vector<std::string> values = {
      "0",      "1",     "2",       "7",       "0.5",   "1e-30",    "1e-12",    "1e-3",         "1.02", "100",
      "1000",   "1e6",   "1e12",    "1e20",    "1e30",  "1e100",    "1e300",    "40",           "true", "false",
      "median", "fixed", "poisson", "guarded", "plain", "proximal", "explicit", "1000000000000"};
  const auto names_option = [](const std::string& text) {
    for (const std::string section : {"method.", "objective.", "privacy.", "data."})
      for (auto at = text.find(section); at != std::string::npos; at = text.find(section, at + 1))
        if (at + section.size() < text.size() && text[at + section.size()] >= 'a' &&
            text[at + section.size()] <= 'z')
          return true;
    return false;
  };
  std::mt19937 bits(5);
  const auto one_of = [&](const auto& list) { return list[bits() % std::size(list)]; };
  std::map<std::string, int> refused, accepted;
  for (int repeat = 0; repeat < 1500; ++repeat) {
    const std::string name = one_of(names);
    const auto method = make(name);
    Options options("method");
    method->declare(options);
    Choices settings;
    for (int changes = 1 + static_cast<int>(bits() % 3); changes > 0; --changes) {
      const auto& declared = one_of(options.declarations());
      const std::string value = one_of(values);
      if (declared.parse(value)) settings[declared.name.substr(7)] = value;
    }
    if (!problems_of(name, settings).empty()) continue;
    Case c;
    c.objective = one_of(std::vector<std::string>{"logistic", "absolute", "poisson", "mean", "squared"});
    c.records = one_of(std::vector<std::uint64_t>{1, 2, 3, 4, 10, 400, 100'000, 10'000'000});
    c.multiplier = one_of(std::vector<double>{1e-9, 1e-3, 0.5, 1, 2, 10, 1e6, 1e12});
    c.adjacency = bits() % 2 == 0 ? Adjacency::replace_one : Adjacency::add_remove;
    const std::string text = refusal(name, settings, c);
    ++(text.empty() ? accepted : refused)[name];
    std::string all;
    for (const auto& [key, value] : settings) all += key + " = " + value + " ";
    EXPECT_TRUE(text.empty() || names_option(text))
        << name << " " << all << c.objective << " n = " << c.records << " z = " << c.multiplier << ": " << text;
  }
  for (const char* name : names) {
    EXPECT_GT(refused[name], 10) << name;
    EXPECT_GT(accepted[name], 10) << name;
  }
}

}  // namespace
}  // namespace dpmpi::messages_test
