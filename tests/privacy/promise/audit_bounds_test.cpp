// Lower bounds on epsilon from runs: against values computed with 40 digits, and how often they are wrong.
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "privacy/promise/audit_bounds.hpp"

namespace dpmpi::audit_bounds_test {
namespace {

TEST(AuditBounds, ClopperPearson) {
  const struct {
    Tally seen;
    double error, least, most;
  } cases[] = {{{0, 100}, 0.05, 0, 0.029513049607},
               {{7, 100}, 0.025, 0.0286052889074, 0.138919728456},
               {{100, 100}, 0.025, 0.963783307355, 1},
               {{480, 500}, 0.025, 0.938897390612, 0.975398687914},
               {{3, 2000}, 0.01, 0.00021810787956, 0.00501372000715}};
  for (const auto& c : cases) {
    EXPECT_NEAR(least_probability(c.seen, c.error), c.least, 1e-11);
    EXPECT_NEAR(most_probability(c.seen, c.error), c.most, 1e-11);
  }
}

TEST(AuditBounds, EpsilonOfTwoTallies) {
  EXPECT_NEAR(least_epsilon(Tally{480, 500}, {20, 500}, 1e-5, 0.05), 2.7321409751, 1e-9);
  EXPECT_NEAR(least_epsilon(Tally{300, 1000}, {30, 1000}, 0.1, 0.05), 1.39515890475, 1e-9);
  EXPECT_NEAR(least_epsilon(Tally{1000, 1000}, {0, 1000}, 1e-5, 0.01), 5.23770560531, 1e-9);
  EXPECT_EQ(least_epsilon(Tally{5, 1000}, {4, 1000}, 0, 0.05), 0);
  EXPECT_EQ(least_epsilon(Tally{1, 1000}, {0, 1000}, 0.5, 0.05), 0) << "less than delta";
}

TEST(AuditBounds, GuessesOfOneRun) {
  EXPECT_NEAR(guessing_p_value({1000, 100, 90}, 1, 0), 2.73581280077e-5, 1e-15);
  EXPECT_NEAR(guessing_p_value({1000, 100, 90}, 1, 1e-5), 0.00251285992157, 1e-12);
  EXPECT_NEAR(guessing_p_value({1000, 250, 200}, 1, 1e-4), 0.0379141947004, 1e-12);
  EXPECT_NEAR(guessing_p_value({100, 100, 51}, 0, 0), 0.460205381306, 1e-12);
  EXPECT_EQ(guessing_p_value({100, 100, 0}, 1, 0), 1);
  EXPECT_NEAR(least_epsilon(Guesses{1000, 100, 95}, 0, 0.05), 2.17243404319, 1e-9);
  EXPECT_NEAR(least_epsilon(Guesses{1000, 100, 95}, 1e-5, 0.05), 2.13497904057, 1e-9);
  EXPECT_NEAR(least_epsilon(Guesses{1000, 400, 400}, 1e-5, 0.05), 4.81840607822, 1e-9);
  EXPECT_EQ(least_epsilon(Guesses{100, 100, 50}, 0, 0.05), 0);
  EXPECT_EQ(least_epsilon(Guesses{1000, 100, 100}, 0.02, 0.05), 0) << "failures may explain it all";
}

// A cut is found in either direction, and for either dataset.
TEST(AuditBounds, BestCutFindsTheEvent) {
  std::vector<double> low(100), high(100);
  for (std::size_t i = 0; i < low.size(); ++i) low[i] = static_cast<double>(i), high[i] = low[i] + 200;
  for (const bool swapped : {false, true}) {
    const auto& first = swapped ? high : low;
    const auto& second = swapped ? low : high;
    const Cut cut = best_cut(first, second, 0, 0.05);
    EXPECT_NEAR(least_epsilon(cut, first, second, 0, 0.05),
                std::log(least_probability({100, 100}, 0.025) / most_probability({0, 100}, 0.025)), 1e-12);
  }
  // An atom: a value that one of them takes every time.
  const std::vector<double> constant(100, 5.0);
  std::vector<double> around(100, 4.0);
  for (std::size_t i = 0; i < 50; ++i) around[i] = 6;
  EXPECT_GT(least_epsilon(best_cut(constant, around, 0, 0.05), constant, around, 0, 0.05), 0.4);
  EXPECT_EQ(least_epsilon(best_cut(low, low, 0, 0.05), low, low, 0, 0.05), 0);
  std::vector<double> shifted = low;
  for (double& v : shifted) v += 30;
  const auto [found, alarms] = rates_at(widest_cut(low, shifted), low, shifted, 0.05);
  EXPECT_NEAR(found - alarms, 0.3, 0.2) << "30 of 100, less what they could err by";
  EXPECT_GT(found, alarms);
}

// The mechanism with the largest loss there is: it tells the bit with probability delta, and otherwise lies with
// probability 1 / (1 + e^epsilon).
class RandomizedResponse {
 public:
  RandomizedResponse(double epsilon, double delta) : delta_(delta), truth_(1 / (1 + std::exp(-epsilon))) {}
  /// As an observer sees it: +-1, and +-2 where it is sure.
  double operator()(bool bit) {
    const double sign = bit ? 1 : -1;
    if (uniform_(random_) < delta_) return 2 * sign;
    return uniform_(random_) < truth_ ? sign : -sign;
  }

 private:
  double delta_, truth_;
  std::mt19937_64 random_{5};
  std::uniform_real_distribution<double> uniform_{0, 1};
};

// The promise of an error: bounds above epsilon are that rare, and bounds come near it.
TEST(AuditBounds, AreRarelyWrongAndNotEmpty) {
  constexpr double epsilon = 1, delta = 0.02, error = 0.1;
  constexpr int audits = 400;
  RandomizedResponse mechanism(epsilon, delta);
  int wrong = 0;
  double mean = 0;
  std::vector<double> first(300), second(300);
  for (int i = 0; i < audits; ++i) {
    Cut cut;
    for (const bool tuning : {true, false}) {
      for (auto& v : first) v = mechanism(false);
      for (auto& v : second) v = mechanism(true);
      if (tuning) cut = best_cut(first, second, delta, error);
    }
    const double bound = least_epsilon(cut, first, second, delta, error);
    wrong += bound > epsilon, mean += bound / audits;
  }
  EXPECT_LE(wrong, audits * error);
  EXPECT_GT(mean, 0.5);
}

TEST(AuditBounds, OfOneRunAreRarelyWrongAndNotEmpty) {
  constexpr double epsilon = 1, delta = 1e-4, error = 0.1;
  constexpr int audits = 2000, records = 300, made = 300;
  RandomizedResponse mechanism(epsilon, delta);
  int wrong = 0;
  double mean = 0;
  std::map<std::uint64_t, double> bounds;
  for (int i = 0; i < audits; ++i) {
    Guesses guesses{records, made, 0};
    for (int j = 0; j < records; ++j) guesses.right += (mechanism(j % 2 == 0) > 0) == (j % 2 == 0);
    const auto [known, is_new] = bounds.try_emplace(guesses.right);
    if (is_new) known->second = least_epsilon(guesses, delta, error);
    const double bound = known->second;
    wrong += bound > epsilon, mean += bound / audits;
  }
  EXPECT_LE(wrong, audits * error);
  EXPECT_GT(mean, 0.6);
}

}  // namespace
}  // namespace dpmpi::audit_bounds_test
