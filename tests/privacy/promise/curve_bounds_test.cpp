// Bets on guesses are fair for mechanisms that attain their curve, and never better than fair for any; the
// recursion is exact where the exact law is known, and above it elsewhere.
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>

#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/promise/curve_bounds.hpp"

namespace dpmpi::curve_bounds_test {
namespace {

using Law = std::vector<double>;  // of the number of right guesses, when all coins are guessed

/// Guesses that are right by coins of their own; with probability `shown` of a coin for all of them, all are right.
Law law_of(std::uint64_t records, double right, double shown = 0) {
  const boost::math::binomial_distribution<> binomial(static_cast<double>(records), right);
  Law law;
  for (std::uint64_t w = 0; w <= records; ++w)
    law.push_back((1 - shown) * boost::math::pdf(binomial, static_cast<double>(w)));
  law.back() += shown;
  return law;
}

double mean_gain(const Law& law, const Bet& bet, double delta) {
  double mean = 0;
  for (std::uint64_t w = 0; w < law.size(); ++w) mean += law[w] * gain(bet, {law.size() - 1, bet.made, w}, delta);
  return mean;
}

double tail(const Law& law, std::uint64_t from) {
  double sum = 0;
  for (std::uint64_t w = from; w < law.size(); ++w) sum += law[w];
  return sum;
}

constexpr std::uint64_t records = 30;

// Everybody guesses by the likelihood ratio, and a wrong guess costs what makes it worth nothing.
TEST(CurveBounds, BetsOnMechanismsThatAttainTheirCurveAreFair) {
  const boost::math::normal normal;
  for (const double mu : {0.2, 1.0, 3.0}) {
    const Law gaussian = law_of(records, boost::math::cdf(normal, mu / 2));
    EXPECT_NEAR(mean_gain(gaussian, {records, 0, 1, 0.9}, gdp_delta(mu, 0)), 1, 1e-9);
    EXPECT_GT(mean_gain(gaussian, {records, 0, 1, 0.9}, gdp_delta(mu * 0.95, 0)), 1.001) << "a smaller curve";
  }
  for (const double epsilon : {0.5, 2.0})
    for (const double delta : {0.0, 0.02}) {
      const double odds = std::exp(epsilon), lies = (1 - delta) / (1 + odds);
      const Law response = law_of(records, 1 - lies);
      EXPECT_NEAR(mean_gain(response, {records, 0, odds, 0.5}, delta), 1, 1e-9);
      const Law together = law_of(records, odds / (1 + odds), delta);
      EXPECT_NEAR(mean_gain(together, {records, 0, odds, 0.5}, delta), 1, 1e-9) << "told all at once";
    }
}

TEST(CurveBounds, NoBetIsBetterThanFair) {
  for (const double epsilon : {0.5, 2.0})
    for (const double delta : {0.0, 0.02})
      for (std::uint64_t least = 0; least < records; ++least) {
        const double odds = std::exp(epsilon);
        for (const Law& law : {law_of(records, 1 - (1 - delta) / (1 + odds)),
                               law_of(records, odds / (1 + odds), delta), law_of(records, 0.5, delta)})
          EXPECT_LE(mean_gain(law, {records, least, odds, 0.9}, delta), 1 + 1e-12) << epsilon << delta << least;
      }
}

TEST(CurveBounds, WhatABetCanLose) {
  const Bet bet{20, 8, 1.5, 0.9};
  EXPECT_NEAR(gain(bet, {40, 20, 8}, 0), 0.1, 1e-12) << "the stake";
  EXPECT_NEAR(gain(bet, {40, 20, 7}, 0), 1, 1e-12) << "it is off";
  EXPECT_NEAR(gain(bet, {40, 20, 20}, 0), 1 + 0.9 * 20 / 18, 1e-12);
  EXPECT_NEAR(gain(bet, {40, 20, 20}, 0.1), 1 + 0.9 * 16 / 22, 1e-12);
  for (std::uint64_t w = 0; w <= 20; ++w) EXPECT_GT(gain(bet, {40, 20, w}, 0.3), 0.0999);
}

// One coin is guessed as often as total variation lets it; of pure privacy all are right as often as those of
// randomised response are.
TEST(CurveBounds, TheRecursionIsExactWhereTheLawIsKnown) {
  const CurvePoint distance{1, 0.3};
  EXPECT_NEAR(guessing_p_value({1, 1, 1}, std::span(&distance, 1)), 0.65, 1e-8);
  for (const double odds : {1.0, 3.0})
    for (const std::uint64_t m : {1, 2, 5, 40}) {
      const CurvePoint pure{odds, 0};
      EXPECT_NEAR(
          guessing_p_value({m, m, m}, std::span(&pure, 1)) / std::pow(odds / (1 + odds), static_cast<double>(m)), 1,
          1e-6);
    }
  EXPECT_EQ(guessing_p_value({10, 5, 0}, std::span(&distance, 1)), 1);
}

// A mechanism that tells all with probability delta, and nothing else, is caught just as often.
TEST(CurveBounds, TheRecursionIsAboveEveryLaw) {
  const std::vector<CurvePoint> shown{{1, 0.04}};
  EXPECT_GE(guessing_p_value({records, records, records}, shown), 0.04);
  EXPECT_LT(guessing_p_value({records, records, records}, shown), 0.06) << "and near it";
  const boost::math::normal normal;
  std::vector<CurvePoint> gaussian;
  for (const double epsilon : {0.0, 0.5, 1.0, 2.0, 4.0})
    gaussian.push_back({std::exp(epsilon), gdp_delta(1, epsilon)});
  const double delta = 0.02, odds = std::exp(1.0);
  const std::vector<CurvePoint> response{{odds, delta}};
  for (std::uint64_t v = 0; v <= records; ++v) {
    EXPECT_GE(guessing_p_value({records, records, v}, gaussian),
              tail(law_of(records, boost::math::cdf(normal, 0.5)), v) * (1 - 1e-9));
    EXPECT_GE(guessing_p_value({records, records, v}, response),
              tail(law_of(records, 1 - (1 - delta) / (1 + odds)), v) * (1 - 1e-9));
    EXPECT_GE(guessing_p_value({records, records, v}, response),
              tail(law_of(records, odds / (1 + odds), delta), v) * (1 - 1e-9));
  }
}

}  // namespace
}  // namespace dpmpi::curve_bounds_test
