// Target charging against its vectors and, for small cases, against exact laws of transcripts.
#include "privacy/curves/target_charging.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curves/rdp_conversion.hpp"

namespace dpmpi::target_charging_test {
namespace {

double binomial(int n, int k, double p) {
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) +
                  (n - k) * std::log1p(-p));
}

// A3
TEST(TargetCharging, Vectors) {
  EXPECT_EQ(charged_tests(518, 0.01, 1e-9), 1254U);
  EXPECT_EQ(charged_tests(100, 0.1, 1e-8), 313U);
}
// Against the normal approximation, whose error is far smaller than the change of N by one part in 10^6.
TEST(TargetCharging, ManyHits) {
  constexpr double hits = 4e9, epsilon = 1e-3, quantile = 7.034484;  // Phi(-quantile) = 1e-12
  const double q = 1 / (1 + std::exp(epsilon));
  const double root = (quantile * std::sqrt(1 - q) + std::sqrt(quantile * quantile * (1 - q) + 4 * hits)) / 2;
  const double tests = root * root / q;  // N q - quantile sqrt(N q (1 - q)) = hits
  EXPECT_NEAR(static_cast<double>(charged_tests(4'000'000'000, epsilon, 1e-12)), tests, 1e-7 * tests);
}
TEST(TargetCharging, IsTheSmallestNumber) {
  const double epsilon = 0.3, failure = 1e-4, q = 1 / (1 + std::exp(epsilon));
  const auto below = [&](int tests) {
    double sum = 0;
    for (int k = 0; k < 7; ++k) sum += binomial(tests, k, q);
    return sum;
  };
  const auto tests = static_cast<int>(charged_tests(7, epsilon, failure));
  EXPECT_LE(below(tests), failure);
  EXPECT_GT(below(tests - 1), failure);
}

// Outcomes of n tests that stop at the c-th hit; each of its hit sequences of one length has the same probability.
double hockey_stick(int n, int c, double hit, double other, double epsilon) {
  double sum = 0;
  const auto add = [&](double p, double q) { sum += std::max(0.0, p - std::exp(epsilon) * q); };
  for (int t = c; t <= n; ++t) {
    const auto at = [&](double p) { return binomial(t - 1, c - 1, p) * p; };
    add(at(hit), at(other));
  }
  for (int hits = 0; hits < c; ++hits) add(binomial(n, hits, hit), binomial(n, hits, other));
  return sum;
}

// A3: the exact divergence of stopped tests never exceeds what is charged for them.
TEST(TargetCharging, CoversExactDivergence) {
  constexpr double epsilon1 = 0.1, P1 = 0.5, failure = 1e-9;
  const double low = P1 * std::exp(-epsilon1), high = 1 - P1 * std::exp(-epsilon1);
  double worst = 0;
  for (const double P0 : {low, high})
    worst = std::max({worst, hockey_stick(60, 5, P0, P1, 0.5), hockey_stick(60, 5, P1, P0, 0.5)});
  EXPECT_NEAR(worst, 0.019010438, 1e-8);

  const auto tests = static_cast<double>(charged_tests(5, epsilon1, failure));
  for (const double epsilon : {0.01, 0.1, 0.5, 1.0, 2.0}) {
    const double charged =
        swapped_delta(zcdp_to_delta(tests * epsilon1 * epsilon1 / 2, epsilon).value, epsilon, failure);
    for (const double P0 : {low, high}) {
      EXPECT_LE(hockey_stick(60, 5, P0, P1, epsilon), charged);
      EXPECT_LE(hockey_stick(60, 5, P1, P0, epsilon), charged);
    }
  }
}

TEST(TargetCharging, FixedPointPaysForItself) {
  for (const std::uint64_t hits : {1ULL, 30ULL, 573ULL, 100000ULL})
    for (const double rho : {1e-5, 0.004, 2.0}) {
      const ChargedTests charged = charge_tests(hits, rho, 1e-12);
      EXPECT_LE(static_cast<double>(charged.tests) * charged.epsilon * charged.epsilon / 2, rho);
      EXPECT_LE(charged_tests(hits, charged.epsilon, 1e-12), charged.tests);
      const double larger = std::sqrt(2 * rho / static_cast<double>(charged.tests - 1));
      EXPECT_TRUE(larger > 30 || charged_tests(hits, larger, 1e-12) > charged.tests - 1);
    }
}
TEST(TargetCharging, SwapRule) {
  EXPECT_EQ(swapped_delta(0.25, 3, 0), 0.25);
  EXPECT_NEAR(swapped_delta(1e-9, 1, 1e-10), 1e-9 + (1 + std::exp(1)) * 1e-10, 1e-23);
  EXPECT_EQ(swapped_delta(0.5, 800, 1e-12), 1);
}
TEST(TargetCharging, RefusesWhatIsOutOfRange) {
  EXPECT_THROW(charged_tests(0, 0.1, 1e-9), PrivacyError);
  EXPECT_THROW(charged_tests(10, 0, 1e-9), PrivacyError);
  EXPECT_THROW(charged_tests(10, NAN, 1e-9), PrivacyError);
  EXPECT_THROW(charged_tests(10, 0.1, 1), PrivacyError);
  EXPECT_THROW(charge_tests(10, -1, 1e-9), PrivacyError);
  EXPECT_THROW(swapped_delta(0.1, -1, 0), PrivacyError);
}

}  // namespace
}  // namespace dpmpi::target_charging_test
