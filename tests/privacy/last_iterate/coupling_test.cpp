// Reference values come from an independent implementation in double precision.
#include "privacy/last_iterate/coupling.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "problems/printed_last_iterate.hpp"
#include "support/close.hpp"

namespace dpmpi::coupling_test {
namespace {

using test::expect_close;

TEST(HiddenCoupling, Conversions) {
  expect_close(gdp_epsilon(0.5, 1e-5), 1.993091404);
  expect_close(gdp_epsilon(1, 1e-5), 4.377178096);
  expect_close(gdp_epsilon(2, 1e-6), 10.99715121);
  expect_close(gdp_delta(1, 1), 0.1269367375);
  expect_close(gdp_delta(0.5, 0), 0.1974126514);
  expect_close(gdp_delta(1, 8), 3.650821687e-15);
  expect_close(gdp_mu(1, 1e-5), 0.2680511232);
  expect_close(gdp_mu(8, 1e-5), 1.666030598);
  expect_close(paper::mironov_epsilon(0.5, 1e-5), 5.298525912);
}

TEST(HiddenCoupling, Allocation) {
  const auto at = [](double gap, double c1, double c2, std::uint64_t steps) {
    return allocation(gap, std::log(c1), c2, steps);
  };
  expect_close(at(2, 1, 0, 100), 0.04);
  expect_close(at(2, 1, .001, 100), 0.0441);
  expect_close(at(2, .99, 0, 100), 0.01231470187);
  expect_close(at(2, .99, .01, 400), 0.04085558988);
  expect_close(at(2, 1.005, 0, 100), 0.06352950559);
  expect_close(at(2, 1.02, .01, 200), 0.253322831);
  EXPECT_EQ(at(0, 1, .1, 5), 0);
  EXPECT_TRUE(std::isinf(at(HUGE_VAL, 1, .1, 5)));
  // Rates so strong that only the last step counts, and c1 near 1 from both sides.
  expect_close(at(2, 1e-30, .001, 1000), 1000 * 1e-6, 1e-9);
  expect_close(at(2, 1 + 1e-14, .001, 100), 0.0441, 1e-9);
  expect_close(at(2, 1 - 1e-14, .001, 100), 0.0441, 1e-9);
}

// The least sum of squares under one linear constraint and lower bounds, by projected gradients on the dual: the
// dual function  min_a a.a - 2 level (w.(a - c2) - W)  is concave in the level, and maximised here by bisection of
// its slope with every step clamped on its own (no closed forms).
double by_dual(double gap, double c1, double c2, int steps) {
  std::vector<double> weights;
  for (int j = 0; j < steps; ++j) weights.push_back(std::pow(c1, -(j + 1)));
  const auto closed = [&](double level) {
    double sum = 0;
    for (const double w : weights) sum += w * (std::max(c2, level * w) - c2);
    return sum;
  };
  double low = 0, high = 1;
  while (closed(high) < gap) high *= 2;
  for (int i = 0; i < 200; ++i) (closed((low + high) / 2) < gap ? low : high) = (low + high) / 2;
  double squares = 0;
  for (const double w : weights) squares += std::pow(std::max(c2, high * w), 2);
  return squares;
}

TEST(HiddenCoupling, AllocationSolvesTheQuadraticProgram) {
  expect_close(allocation(2, std::log(.97), .05, 40), by_dual(2, .97, .05, 40), 1e-9);
  expect_close(allocation(2, std::log(1.03), .05, 40), by_dual(2, 1.03, .05, 40), 1e-9);
  expect_close(allocation(1, 0, .01, 30), by_dual(1, 1, .01, 30), 1e-9);
  for (const double c1 : {.5, .9, .999, 1.001, 1.2})
    for (const double c2 : {0.0, .001, .2})
      for (const int steps : {1, 2, 17})
        expect_close(allocation(3, std::log(c1), c2, static_cast<std::uint64_t>(steps)), by_dual(3, c1, c2, steps),
                     1e-9);
}

TEST(HiddenCoupling, LogBetaMoment) {
  expect_close(log_beta_moment(.5, 500, -40), -0.03848462951, 1e-9);
  expect_close(log_beta_moment(8, 2500, 98), 0.3198881106, 1e-9);
  expect_close(log_beta_moment(32, 1000, 350), 13.63707724, 1e-9);
  EXPECT_NEAR(log_beta_moment(3, 3, 2), 2, 1e-14);  // 1F1(a; a; x) = e^x
  EXPECT_NEAR(log_beta_moment(3, 3, -2), -2, 1e-14);
  EXPECT_NEAR(log_beta_moment(1, 2, 1), std::log(std::expm1(1)), 1e-14);
  EXPECT_NEAR(log_beta_moment(1, 2, -600), -std::log(600), 1e-12);  // (1 - e^-x) / x
  // Rounded up: never below the exact value log((e^x - 1) / x).
  for (double x = 1e-3; x < 700; x *= 1.7) {
    const long double exact = std::log(std::expm1(static_cast<long double>(x)) / x);
    EXPECT_GE(log_beta_moment(1, 2, x), exact);
    EXPECT_NEAR(log_beta_moment(1, 2, x), static_cast<double>(exact), 1e-13 * (1 + static_cast<double>(exact)));
  }
}

struct FactorRow {
  StepMap map;
  std::uint64_t steps;
  double deviation, bernstein, beta, exponent, chain10, chain100;
};

TEST(HiddenCoupling, FactorsOfTwoRuns) {
  constexpr double failure = 5e-6;
  const FactorRow rows[] = {
      {{.1, 1, 200, 1e5},
       1000,
       0.7738922636,
       0.9997916095,
       0.9994955887,
       -0.01979796419,
       0.9990105916,
       0.9990115056},
      {{1, 1, 64, 1e4}, 1000, 1.588870178, 1.00825035, 1.006716061, 2.543127057e-4, 1.000012716, 1.000127262},
      {{1.1, 1, 16, 1000}, 200, 4.043090261, 1.047680403, 1.039745955, 0.04130176215, 1.002067222, 1.006034853},
      {{1, 1, 1, 1000}, 500, 52.32788786, 1.026317635, 1.016691276, 3.991170191e-4, 1.000019956, 1.000216986},
      {{.5, 1, 100, 2000}, 500, 1.111938421, 1.013113631, 1.002515512, -0.3713092003, 0.9816058166, 0.983174064}};
  for (const FactorRow& row : rows) {
    expect_close(bernstein_deviation(row.map, row.steps, failure), row.deviation);
    expect_close(std::exp(bernstein_growth(row.map, row.steps, failure).log_rate), row.bernstein, 1e-9);
    expect_close(std::exp(beta_growth(row.map, row.steps, failure).log_rate), row.beta, 1e-9);
    expect_close(chain_exponent(row.map, 10), row.exponent);
    expect_close(std::exp(chain_growth(row.map, 10, failure).log_rate), row.chain10, 1e-9);
    expect_close(std::exp(chain_growth(row.map, 100, failure).log_rate), row.chain100, 1e-9);
  }
  expect_close(std::exp(chain_growth(rows[0].map, 10, failure).log_excess), 1.840990298);
  expect_close(std::exp(chain_growth(rows[0].map, 100, failure).log_excess), 1.062931188);
  // Retention scales every factor; all directions leave nothing to chance.
  const StepMap kept{1, .9, 64, 1e4};
  expect_close(chain_growth(kept, 10, failure).log_rate,
               chain_growth(rows[1].map, 10, failure).log_rate + std::log(.9));
  const Growth all = chain_growth({.5, .9, 7, 7}, 10, failure);
  expect_close(all.log_rate, std::log(.45), 1e-12);
  EXPECT_EQ(all.log_excess, 0);
  EXPECT_EQ(beta_growth({.5, .9, 7, 7}, 5, failure).log_rate, all.log_rate);
  EXPECT_THROW(bernstein_growth({1, 1, 6, 11}, 5, failure), PrivacyError);
}

}  // namespace
}  // namespace dpmpi::coupling_test
