// Reference values come from an independent implementation in double precision.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/accountants/gdp.hpp"
#include "privacy/accountants/rdp_accountant.hpp"
#include "privacy/curves/rdp_at_order.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/last_iterate/bounds.hpp"
#include "privacy/last_iterate/case.hpp"
#include "support/close.hpp"

namespace dpmpi::sampled_test {
namespace {

constexpr double delta = 1e-5, failure = 1e-6;

using test::expect_close, test::wor_gaussian_rdp;

// D_a of the mixture (1-q) N(0,1) + q N(mu,1) against N(0,1), and the other way round, by a plain Riemann sum.
double mixture_divergence(double a, double q, double mu, bool forward) {
  const double step = 2e-3, from = -30, to = std::max(a * mu, mu) + 30;
  const auto exponent = [&](double x) {
    const double log_ratio = std::log(1 - q + q * std::exp(mu * x - mu * mu / 2));
    return (forward ? a : 1 - a) * log_ratio - x * x / 2;
  };
  double sum = 0, peak = 0;
  for (double x = from; x < to; x += 0.1) peak = std::max(peak, exponent(x));
  for (double x = from; x < to; x += step) sum += std::exp(exponent(x) - peak);
  return (peak + std::log(sum * step / std::sqrt(2 * std::acos(-1.0)))) / (a - 1);
}

TEST(HiddenSampled, DivergenceOfASampleWithoutReplacement) {
  const struct {
    double order, rate, mu, bound, printed, forward, wbk;
  } rows[] = {{2, .01, 1, 2.806392913e-4, 1.602226498e-4, 1.718134221e-4, 5.435086381e-4},
              {8, .01, 1, 1.258827712e-3, 5.723888949e-4, 8.936439076e-4, 2.684165013e-3},
              {32, .01, .5, 6.371489735e-4, 4.141049292e-4, 5.028946469e-4, 2.517182159e-3},
              {4, .1, 2, 4.929960732, 0.05724069231, 4.929960718, 5.161017991},
              {16, .1, .5, 0.04678221865, 0.01606024214, 0.04529183908, 0.148913027},
              {1.5, .05, 1, 4.66055345e-3, 2.585588417e-3, 3.054325603e-3, -1},
              {64, .001, .25, 2.471732665e-6, 2.05504511e-6, 2.072290466e-6, 9.877463876e-6}};
  for (const auto& row : rows) {
    const double bound = sampled_gaussian_rdp(row.order, row.rate, row.mu);
    expect_close(bound, row.bound, 1e-8);
    expect_close(mixture_divergence(row.order, row.rate, row.mu, true), row.forward);
    expect_close(mixture_divergence(row.order, row.rate, row.mu, false), row.printed);  // trap 9: too small
    EXPECT_GE(bound, row.forward);
    EXPECT_GT(row.forward, row.printed);
    if (row.wbk > 0) {
      const auto batch = static_cast<std::uint64_t>(std::llround(row.rate * 1e6));
      EXPECT_GT(wor_gaussian_rdp(1000000, batch, 1 / row.mu, row.order), bound);
    }
  }
  expect_close(sampled_gaussian_rdp(2, 1, .7), .49, 1e-9);
  for (const double order : {1.01, 2.0, 7.5, 64.0, 256.0})
    for (const double mu : {.01, .3, 2.0})
      expect_close(sampled_gaussian_rdp(order, 1, mu), order * mu * mu / 2, 1e-9);
}

// The worst pair in the plane that was found by search: three shifts at pairwise distance mu.
TEST(HiddenSampled, CoversTwoDimensionalMixtures) {
  const struct {
    double order, rate, mu, bound, pair;
  } rows[] = {{2, .05, 1, 6.306251e-3, 4.592261e-3},
              {4, .1, 1, 0.06626799620, 0.04186277},
              {3, .3, 1.5, 1.624373658, 1.025040}};
  for (const auto& row : rows) {
    expect_close(sampled_gaussian_rdp(row.order, row.rate, row.mu), row.bound);
    EXPECT_GT(sampled_gaussian_rdp(row.order, row.rate, row.mu), row.pair);
  }
}

// Trap 9 on a grid: never below the divergence of a mixture against a Gaussian, in either direction.
TEST(HiddenSampled, NeverBelowMixtures) {
  for (const double order : {1.25, 2.0, 3.0, 8.0, 20.0, 40.0})
    for (const double rate : {.001, .01, .05, .3, .7, 1.0})
      for (const double mu : {.05, .1, .3, .5, 1.0, 2.0}) {
        const double bound = sampled_gaussian_rdp(order, rate, mu), rounding = 3e-13 / (order - 1);
        EXPECT_GE(bound + rounding, mixture_divergence(order, rate, mu, true)) << order << ' ' << rate << ' ' << mu;
        EXPECT_GE(bound + rounding, mixture_divergence(order, rate, mu, false))
            << order << ' ' << rate << ' ' << mu;
      }
  // Ordering of the four: S as printed <= D(mix, N0) <= this bound <= Wang, Balle and Kasiviswanathan.
  for (const double order : {2.0, 3.0, 8.0, 20.0})
    for (const double rate : {.001, .05, .3})
      for (const double mu : {.3, 1.0, 2.0}) {
        const double forward = mixture_divergence(order, rate, mu, true);
        const double bound = sampled_gaussian_rdp(order, rate, mu);
        EXPECT_LE(mixture_divergence(order, rate, mu, false), forward * (1 + 1e-9) + 1e-13);
        EXPECT_LE(forward, bound * (1 + 1e-9) + 1e-13);
        EXPECT_LE(bound,
                  wor_gaussian_rdp(1000, static_cast<std::uint64_t>(rate * 1000), 1 / mu, order) * (1 + 1e-9));
      }
}

// Where the integral would be long, convexity takes over; the curve stays a curve.
TEST(HiddenSampled, LargeShifts) {
  double before = 0;
  for (const double order : rdp_orders()) {
    const double value = sampled_gaussian_rdp(order, .01, 30);
    EXPECT_GE(value, before * (1 - 1e-9));
    EXPECT_LE(value, order * 450 * (1 + 1e-9));
    before = value;
  }
  EXPECT_EQ(sampled_gaussian_rdp(2, .01, 0), 0);
  EXPECT_TRUE(std::isinf(sampled_gaussian_rdp(2, .01, HUGE_VAL)));
}

std::vector<double> reference_orders() {
  std::vector<double> orders;
  for (int i = 11; i < 110; ++i) orders.push_back(i / 10.0);
  for (int i = 11; i <= 63; ++i) orders.push_back(i);
  orders.insert(orders.end(), {64, 80, 96, 128, 192, 256, 384, 512, 768, 1024});
  return orders;
}

TEST(HiddenSampled, RunsWithoutReplacement) {
  const std::vector<double> orders = reference_orders();
  const struct {
    double batch, steps, hidden, composition;
  } rows[] = {{500, 1e3, 0.74317247, 0.73570922},
              {500, 2e4, 3.8727049, 3.8382063},
              {500, 2e5, 10.26528, 15.093839},
              {2000, 2e5, 10.227035, 14.44719}};
  for (const auto& row : rows) {
    const HiddenCase setting{.n = 1e4, .d = 1e4, .K = 64, .eta = 64, .sigma = 0.05, .batch = row.batch};
    const HiddenState run = setting.run(row.steps);
    const Growth growth = chain_growth(step_map(run), 150, failure);
    expect_close(std::exp(growth.log_rate), 1.000191084, 1e-9);
    expect_close(std::exp(growth.log_excess), 1.0471285);
    const std::vector<double> composed = sampled_composition_curve(run, orders);
    std::vector<double> best = sampled_coupling_curve(run, stretches(run).front(), growth, orders);
    // The reference has no isotropic noise in the window that begins with the run.
    const std::vector<double> whole =
        sampled_gaussian_curve(row.batch / 1e4, setting.shift() / setting.s1(), orders);
    for (std::size_t i = 0; i < best.size(); ++i) best[i] = std::min(best[i], row.steps * whole[i]);
    expect_close(rdp_to_epsilon(orders, composed, delta).value, row.composition);
    expect_close(rdp_to_epsilon(orders, best, delta - failure).value, row.hidden);
  }
}

TEST(HiddenSampled, AccountantFindsTheCoupling) {
  const HiddenCase setting{.n = 1e4, .d = 1e4, .K = 64, .eta = 64, .sigma = 0.05, .batch = 500};
  const HiddenState run = setting.run(2e5);
  RdpAccountant accountant(Adjacency::replace_one, reference_orders());
  accountant.compose({run, 1});
  const double epsilon = accountant.epsilon(delta);
  EXPECT_LT(epsilon, 10.26528);  // theta = 150 is far from the best
  EXPECT_NEAR(epsilon, 6.878, 0.01);
  EXPECT_LE(accountant.delta(epsilon), delta * 1.2);
  EXPECT_EQ(accountant.least_epsilon(delta), 0);

  const HiddenExplanation e = explain(run, Adjacency::replace_one, delta);
  EXPECT_EQ(e.used, "hidden");
  EXPECT_LT(e.epsilon, e.composition_epsilon);
  EXPECT_EQ(e.coupling_failure, failure_share * delta);
  const StretchBound& bound = e.stretches.front();
  EXPECT_EQ(bound.bound, HiddenBound::chain);
  const Growth growth = chain_growth(step_map(run), bound.theta, failure_share * delta);
  const auto curve = sampled_coupling_curve(run, bound.stretch, growth, rdp_orders());
  EXPECT_NEAR(rdp_to_epsilon(rdp_orders(), curve, delta * (1 - failure_share)).value, e.epsilon, 1e-6 * e.epsilon);

  EXPECT_THROW(composition_mu(run), PrivacyError);
  EXPECT_THROW(GdpAccountant(Adjacency::replace_one).compose({run, 1}), PrivacyError);
  EXPECT_THROW(RdpAccountant(Adjacency::add_remove).compose({run, 1}), PrivacyError);
}

TEST(HiddenSampled, NothingIsExplainedThatNoAccountantBounds) {
  const HiddenState run = HiddenCase{.n = 1e4, .d = 1e4, .K = 64, .eta = 64, .sigma = 0.05, .batch = 500}.run(2e5);
  EXPECT_THROW(explain(run, Adjacency::add_remove, delta), PrivacyError);
  HiddenState empty = run;
  empty.steps = 0;
  EXPECT_THROW(explain(empty, Adjacency::replace_one, delta), PrivacyError);
}

}  // namespace
}  // namespace dpmpi::sampled_test
