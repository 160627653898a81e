#include "privacy/accountants/pure.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/loss_distributions/discrete_loss.hpp"

namespace dpmpi::pure_test {
namespace {

using Guarantees = std::vector<ApproxDp>;

OptimalCompositionAccountant composed(const Guarantees& guarantees, std::uint64_t count = 1) {
  OptimalCompositionAccountant accountant(Adjacency::add_remove);
  for (const auto& g : guarantees) accountant.compose({g, count});
  return accountant;
}

long double binomial(int n, int k) {
  long double value = 1;
  for (int i = 0; i < k; ++i) value = value * (n - i) / (i + 1);
  return value;
}

// Kairouz, Oh and Viswanath (2015), Thm. 3.3: k uses of (epsilon, delta) are ((k-2i) epsilon, 1 - (1-delta)^k
// (1-delta_i))-DP with this delta_i.
double published_delta(double epsilon, double delta, int k, int i) {
  const long double e = epsilon;
  long double sum = 0;
  for (int l = 0; l < i; ++l)
    sum += binomial(k, l) * (std::exp((k - l) * e) - std::exp((k - 2 * i + l) * e)) / std::pow(1 + std::exp(e), k);
  return static_cast<double>(1 - std::pow(1 - static_cast<long double>(delta), k) * (1 - sum));
}

TEST(OptimalComposition, ClosedForm) {
  for (const int k : {1, 2, 10, 31})
    for (const double epsilon : {0.01, 0.3, 2.0})
      for (const double delta : {0.0, 1e-6, 0.01}) {
        const auto accountant = composed({{epsilon, delta}}, static_cast<std::uint64_t>(k));
        for (int i = 0; i <= k / 2; ++i) {
          const double expected = published_delta(epsilon, delta, k, i), at = (k - 2 * i) * epsilon;
          const auto what = fmt::format("k={} i={} epsilon={} delta={}", k, i, epsilon, delta);
          EXPECT_NEAR(accountant.delta(at), expected, 1e-12 * expected + 1e-14) << what;
          EXPECT_NEAR(accountant.least_delta(at), expected, 1e-12 * expected + 1e-14) << what;
          // Where the curve is flat, near the failures and near 1, rounding of delta decides.
          if (expected <= 1e-12 || expected > 0.99 || (delta > 0 && 3 * i < k)) continue;
          EXPECT_NEAR(accountant.epsilon(expected), at, 1e-9) << what;
          EXPECT_NEAR(accountant.least_epsilon(expected), at, 1e-9) << what;
        }
      }
}

// The rounding of 1 - (1 - delta) must not push the failures above the very delta that was promised.
TEST(OptimalComposition, OneGuaranteeKeepsItsOwnDelta) {
  for (const double epsilon : {0.0, 0.1, 0.5, 30.0})
    for (const double delta : {1e-300, 1e-17, 1e-6, 0.1, 0.7}) {
      const auto what = fmt::format("epsilon={} delta={}", epsilon, delta);
      const auto accountant = composed({{epsilon, delta}});
      EXPECT_EQ(accountant.epsilon(delta), epsilon) << what;
      EXPECT_LE(accountant.least_epsilon(delta), epsilon) << what;
      EXPECT_NEAR(accountant.least_epsilon(delta), epsilon, 1e-12 * epsilon) << what;
      EXPECT_NEAR(accountant.delta(epsilon), delta, 1e-14 * delta) << what;
      EXPECT_GE(accountant.delta(epsilon), delta) << what;
      EXPECT_EQ(accountant.epsilon(delta * (1 - 1e-9)), std::numeric_limits<double>::infinity()) << what;
      // with another one that does not fail
      const auto two = composed({{epsilon, delta}, {0.25, 0}});
      EXPECT_NEAR(two.epsilon(delta), epsilon + 0.25, 1e-12) << what;
      EXPECT_GE(two.epsilon(delta), epsilon + 0.25) << what;
    }
}

// All 4^k outcomes of different worst mechanisms, each (epsilon_i, delta_i)-DP.
double brute_force(const Guarantees& guarantees, double epsilon) {
  std::vector<std::pair<long double, long double>> outcomes = {{1, 1}};
  for (const auto& g : guarantees) {
    const long double e = std::exp(static_cast<long double>(g.epsilon)), d = g.delta;
    std::vector<std::pair<long double, long double>> longer;
    for (const auto& [p, q] : outcomes) {
      longer.push_back({p * d, 0});
      longer.push_back({p * (1 - d) * e / (1 + e), q * (1 - d) / (1 + e)});
      longer.push_back({p * (1 - d) / (1 + e), q * (1 - d) * e / (1 + e)});
      longer.push_back({0, q * d});
    }
    outcomes = std::move(longer);
  }
  long double sum = 0;
  for (const auto& [p, q] : outcomes) sum += std::max(0.0L, p - std::exp(static_cast<long double>(epsilon)) * q);
  return static_cast<double>(sum);
}

TEST(OptimalComposition, DifferentGuaranteesByBruteForce) {
  const std::vector<Guarantees> cases = {
      {{0.1, 0}, {0.2, 1e-3}},
      {{0.7, 1e-5}, {0.31, 0}, {1.9, 1e-2}, {0.05, 1e-9}},
      {{0, 1e-3}, {0.5, 1e-3}, {0.5, 2e-3}, {0.25, 0}, {1, 0}, {3, 1e-7}, {0.125, 0}},
  };
  for (const auto& guarantees : cases) {
    const auto accountant = composed(guarantees);
    for (const double epsilon : {0.0, 0.05, 0.3, 0.9, 2.0, 2.7, 6.0}) {
      const double expected = brute_force(guarantees, epsilon);
      EXPECT_NEAR(accountant.delta(epsilon), expected, 1e-10 * expected) << epsilon;
      EXPECT_GE(accountant.delta(epsilon), expected * (1 - 1e-15)) << epsilon;
      EXPECT_NEAR(accountant.least_delta(epsilon), expected, 1e-10 * expected) << epsilon;
      EXPECT_LE(accountant.least_delta(epsilon), expected * (1 + 1e-15)) << epsilon;
    }
    for (const double delta : {1e-6, 0.012, 0.1, 0.3}) {
      const double epsilon = accountant.epsilon(delta);
      if (!std::isfinite(epsilon)) continue;
      EXPECT_LE(brute_force(guarantees, epsilon), delta * (1 + 1e-12));
      EXPECT_LE(accountant.least_epsilon(delta), epsilon);
      EXPECT_NEAR(accountant.least_epsilon(delta), epsilon, 1e-9);
    }
  }
}

TEST(OptimalComposition, OneGuaranteeIsItself) {
  const auto accountant = composed({{0.5, 1e-6}});
  EXPECT_NEAR(accountant.epsilon(1e-6 * (1 + 1e-9)), 0.5, 1e-6);
  EXPECT_LE(accountant.epsilon(1e-6 * (1 + 1e-9)), 0.5 * (1 + 1e-12));
  EXPECT_EQ(accountant.epsilon(0.9e-6), INFINITY);
  EXPECT_NEAR(accountant.delta(0.5), 1e-6, 1e-15);
  EXPECT_EQ(composed({}).epsilon(1e-9), 0);
  EXPECT_EQ(composed({}).delta(0), 0);
}

// A thousand small losses are nearly normal: the central limit is mu-GDP with mu = epsilon sqrt(k) for small
// epsilon.
TEST(OptimalComposition, ManyUsesApproachTheNormalLaw) {
  const auto normal = [](double mu, double e) {
    return std::erfc((e / mu - mu / 2) / std::sqrt(2.0)) / 2 -
           std::exp(e) * std::erfc((e / mu + mu / 2) / std::sqrt(2.0)) / 2;
  };
  const double epsilon = 1e-4;
  const auto accountant = composed({{epsilon, 0}}, 100'000'000);
  for (const double e : {0.5, 1.0, 4.0}) EXPECT_NEAR(accountant.delta(e), normal(1, e), 1e-5 * normal(1, e));
}

// 40 different guarantees have 2^40 outcomes: the grid is above the truth, which lies between those of equal
// guarantees a little smaller and a little larger.
TEST(OptimalComposition, TheGridIsATightUpperBound) {
  Guarantees mixed;
  const int k = 40;
  for (int i = 0; i < k; ++i) mixed.push_back({0.1 * (1 + 1e-4 * (std::sqrt(i / 10.0) - 1)), 1e-8});
  const auto grid = composed(mixed), equal = composed({{0.1, 1e-8}}, k), larger = composed({{0.10001, 1e-8}}, k),
             smaller = composed({{0.09999, 1e-8}}, k);
  for (const double delta : {1e-3, 1e-5, 1e-6}) {
    EXPECT_GE(grid.epsilon(delta), smaller.least_epsilon(delta));
    EXPECT_LE(grid.epsilon(delta), 1.001 * larger.epsilon(delta));
    EXPECT_NEAR(grid.epsilon(delta), equal.epsilon(delta), 1e-3 * equal.epsilon(delta));
  }
  EXPECT_EQ(grid.least_epsilon(1e-5), 0);  // upper bounds only
  EXPECT_EQ(grid.least_delta(1), 0);
}

// The sum on a grid against the exact one, where both are possible: never below, and hardly above.
TEST(LossLaw, GridAgainstExactSum) {
  const auto a = LossLaw::randomized_response(0.05, 700), b = LossLaw::randomized_response(0.031, 900);
  const auto c = LossLaw::randomized_response(0.02, 30);
  const auto exact = a + b, gridded = (a + b) + c;
  EXPECT_TRUE(exact.exact());
  EXPECT_FALSE(gridded.exact());
  for (const double epsilon : {0.0, 1.0, 5.0, 12.0}) {
    double direct = 0;  // E over c of the exact hockey-stick at epsilon - c
    for (const auto& atom : c.atoms())
      for (const auto& other : exact.atoms())
        if (const double loss = atom.loss + other.loss; loss > epsilon)
          direct -= atom.mass * other.mass * std::expm1(epsilon - loss);
    EXPECT_GE(gridded.delta(epsilon), direct * (1 - 1e-12)) << epsilon;
    EXPECT_LE(gridded.delta(epsilon), direct * 1.002) << epsilon;
  }
}

TEST(OptimalComposition, PureMechanisms) {
  OptimalCompositionAccountant accountant(Adjacency::add_remove);
  accountant.compose({Laplace{2}, 1});
  EXPECT_NEAR(accountant.epsilon(1e-15), 0.5, 1e-9);
  accountant.compose({Exponential{0.25}, 2});
  EXPECT_NEAR(accountant.epsilon(1e-15), 1, 1e-9);
  accountant.compose({PoissonLaplace{0.1, 1}, 1});
  const double amplified = std::log1p(0.1 * std::expm1(1));
  EXPECT_NEAR(accountant.epsilon(1e-15), 1 + amplified, 1e-9);
  EXPECT_NEAR(accountant.delta(0), composed({{0.5, 0}, {0.25, 0}, {0.25, 0}, {amplified, 0}}).delta(0), 1e-12);
  EXPECT_EQ(accountant.least_delta(0), 0);  // these mechanisms are better than the worst with their epsilon
  accountant.compose({NonPrivate{}, 1});
  EXPECT_EQ(accountant.epsilon(0.5), INFINITY);
  EXPECT_EQ(accountant.delta(10), 1);
}

TEST(OptimalComposition, IsMonotoneAndDoesNotDependOnGrouping) {
  double before = 0;
  for (const double epsilon : {0.1, 0.11, 0.2, 1.0}) {
    const double value = composed({{epsilon, 1e-7}, {0.4, 0}}, 20).epsilon(1e-4);
    EXPECT_GT(value, before);
    before = value;
  }
  const auto more = composed({{0.1, 1e-7}}, 21), fewer = composed({{0.1, 1e-7}}, 20);
  EXPECT_GT(more.epsilon(1e-4), fewer.epsilon(1e-4));
  EXPECT_GT(composed({{0.1, 2e-7}}, 20).epsilon(1e-4), fewer.epsilon(1e-4));
  OptimalCompositionAccountant one_by_one(Adjacency::add_remove);
  for (int i = 0; i < 20; ++i) one_by_one.compose({ApproxDp{0.1, 1e-7}, 1});
  EXPECT_EQ(one_by_one.epsilon(1e-4), fewer.epsilon(1e-4));
}

TEST(OptimalComposition, RefusesWhatItHasNoBoundFor) {
  OptimalCompositionAccountant accountant(Adjacency::add_remove);
  EXPECT_THROW(accountant.compose({Gaussian{1}, 1}), PrivacyError);
  EXPECT_THROW(accountant.compose({Zcdp{1}, 1}), PrivacyError);
  EXPECT_THROW(accountant.compose({ApproxDp{0.1, 0}, (std::uint64_t{1} << 32) + 1}), PrivacyError);
  EXPECT_THROW(accountant.compose({ApproxDp{1e300, 0}, 10}), PrivacyError);
  EXPECT_EQ(accountant.epsilon(1e-6), 0);  // nothing was added
}

TEST(OptimalComposition, ExtremeParameters) {
  EXPECT_EQ(composed({{1e299, 0}}, 5).delta(1000), 1);
  EXPECT_EQ(composed({{800, 0}}, 3).delta(2300), 1);
  EXPECT_GE(composed({{0, 0.25}}, 2).delta(0), 0.4375);
  EXPECT_NEAR(composed({{0, 0.25}}, 2).delta(0), 0.4375, 1e-14);
  const double mean = 0.5e-12 * std::sqrt(2000 / M_PI) * (1 - 1 / 4000.0);  // of the positive part, by Stirling
  EXPECT_NEAR(composed({{1e-12, 0}}, 1000).delta(0), mean, 1e-6 * mean);
  EXPECT_EQ(composed({{1, 1 - 1e-16}}, 400).epsilon(0.999), INFINITY);
}

}  // namespace
}  // namespace dpmpi::pure_test
