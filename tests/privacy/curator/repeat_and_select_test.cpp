// What the best of secretly many runs costs: the Renyi bound against exact divergences and against the theorem.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/accountants/rdp.hpp"
#include "privacy/accountants/rdp_accountant.hpp"
#include "privacy/curator/repetition_laws.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/curves/repetition_law.hpp"
#include "privacy/promise/calibrate.hpp"

namespace dpmpi::repeat_and_select_test {
namespace {

using test::binomial;
using test::poisson;
using test::repetition_laws;
using Real = long double;

Real normal_density(Real x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L)); }
Real normal_below(Real x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; }

/// A run's output is N(0, 1), or N(shift, 1) with probability `rate`.
struct Output {
  double rate = 0, shift = 0;
  Real density(Real x) const { return (1 - rate) * normal_density(x) + rate * normal_density(x - shift); }
  Real below(Real x) const { return (1 - rate) * normal_below(x) + rate * normal_below(x - shift); }
};

// The density of the best of K runs is f'(F) F', f the generating function of K and F the distribution of one; and
// there is an atom where K = 0. Both directions.
double exact_divergence(const RepetitionLaw& law, const Output& one, const Output& other, double order) {
  const auto slope = [&](Real x) -> Real {  // f'(x)
    if (law.distribution == Repetitions::poisson) return law.mean * std::exp(law.mean * (x - 1));
    const Real g = law.gamma, s = law.shape;
    const Real at_0 = s == 0 ? (1 - g) / std::log(1 / g) : s * (1 - g) / (std::pow(g, -s) - 1);
    return at_0 * std::pow(1 - (1 - g) * x, -s - 1);
  };
  const auto density = [&](const Output& run, Real x) { return slope(run.below(x)) * run.density(x); };
  Real both[2] = {};
  const Real none = law.distribution == Repetitions::poisson ? std::exp(-static_cast<Real>(law.mean)) : 0,
             h = 0.02L;
  for (Real x = -30; x < 30; x += h) {
    const Real p = density(one, x), q = density(other, x);
    if (p == 0 || q == 0) continue;
    both[0] += h * std::pow(p / q, static_cast<Real>(order)) * q;
    both[1] += h * std::pow(q / p, static_cast<Real>(order)) * p;
  }
  return static_cast<double>(std::log(std::max(both[0], both[1]) + none) / (order - 1));
}
double exact_divergence(const RepetitionLaw& law, double shift, double order) {
  return exact_divergence(law, {}, {1, shift}, order);
}

double bound(const RepetitionLaw& law, double z, double order) {
  return rdp_curve(RepeatAndSelect{law, {{Gaussian{z}, 1}}}, Adjacency::add_remove, std::span(&order, 1)).front();
}

TEST(RepeatAndSelectRdp, BoundsTheExactDivergence) {
  for (const RepetitionLaw& law : repetition_laws)
    for (const double z : {1.0, 5.0, 40.0})
      for (const double order : {1.5, 4.0, 16.0}) {
        const double exact = exact_divergence(law, 1 / z, order), rdp = bound(law, z, order);
        EXPECT_GE(rdp, exact) << law.shape << " " << law.gamma << " " << law.mean << " z " << z << " order "
                              << order;
        // The selection is not free: a run by itself has less.
        EXPECT_GE(rdp, order / (2 * z * z) * (law.distribution == Repetitions::poisson ? 0.2 : 1));
      }
}

// The formulas, written out once more, at the best of many orders of both directions; for Poisson with the atom at
// K = 0.
TEST(RepeatAndSelectRdp, IsTheTheorem) {
  const double z = 6, rho = 1 / (2 * z * z), eta = 0.5, gamma = 0.04, m = 5;
  const double mean = eta * (1 - gamma) / (gamma * (1 - std::pow(gamma, eta)));
  for (const double order : {1.25, 2.0, 9.0, 16.0, 100.0}) {
    double other = 1e9, smallest = 1e9;
    for (double b = 1; b < 400; b *= 1.0005)
      other = std::min(other, (1 + eta) * ((1 - 1 / b) * rho * b + std::log(1 / gamma) / b));
    for (double a = order; a < 4000; a = 1 + (a - 1) * 1.0005)
      smallest = std::min(smallest, rho * a + std::log(mean) / (a - 1));
    EXPECT_NEAR(bound(binomial(eta, gamma), z, order), smallest + other, 1e-7);

    double poisson_bound = 1e9;
    for (const double a : rdp_orders()) {
      const double delta = gdp_delta(1 / z, std::log(a / (a - 1)));
      const double log_moment =
          std::log(std::exp(-m - 600) + m * std::exp((a - 1) * (rho * a + m * delta) - 600)) + 600;
      if (a >= order) poisson_bound = std::min(poisson_bound, log_moment / (a - 1));
    }
    EXPECT_NEAR(bound(poisson(m), z, order), poisson_bound, 1e-9);
  }
}

// Without its atom at K = 0 the bound for few Poisson runs would be below the truth, even below 0.
TEST(RepeatAndSelectRdp, CountsTheRunThatDoesNotHappen) {
  const double m = 0.3, z = 5, order = 3, rho = 1 / (2 * z * z);
  const double without = rho * order + m * gdp_delta(1 / z, std::log(1.5)) + std::log(m) / (order - 1);
  const double exact = exact_divergence(poisson(m), 1 / z, order);
  EXPECT_LT(without, 0);
  EXPECT_GT(exact, 0);
  EXPECT_GE(bound(poisson(m), z, order), exact);
}

// More runs cost little: log E K enters over the order.
TEST(RepeatAndSelectRdp, CalibratesAndGrowsLittleWithTheRuns) {
  double before = 0;
  for (const double gamma : {0.5, 0.1, 0.01, 0.001}) {
    const PrivacyTarget target{2, 1e-6, Adjacency::replace_one};
    const auto events = [&](double z) {
      return std::vector<Event>{{RepeatAndSelect{binomial(1, gamma), {{Gaussian{z}, 1}}}, 1}};
    };
    const double z = calibrate_noise(events, target, "best").value;
    RdpAccountant account(Adjacency::replace_one);
    account.compose(events(z));
    EXPECT_LE(account.epsilon(1e-6), 2);
    EXPECT_GT(account.epsilon(1e-6), 1.999);
    EXPECT_GT(z, before);
    before = z;
  }
  EXPECT_LT(before, 15) << "a thousand runs; one needs 2.3, and composing a thousand 73";
}

double bound(const RepeatAndSelect& best, double order) {
  return rdp_curve(best, Adjacency::add_remove, std::span(&order, 1)).front();
}

// Whatever decides between outputs: larger or smaller ones.
TEST(RepeatAndSelectRdp, BoundsTheExactDivergenceOfSampledRuns) {
  for (const RepetitionLaw& law : repetition_laws)
    for (const double rate : {0.02, 0.3, 1.0})
      for (const double z : {0.8, 3.0})
        for (const double order : {1.5, 3.0, 12.0}) {
          const double rdp = bound({law, {{PoissonGaussian{rate, z}, 1}}}, order);
          for (const double shift : {1 / z, -1 / z})
            EXPECT_GE(rdp, exact_divergence(law, {}, {rate, shift}, order))
                << law.shape << " " << law.gamma << " " << law.mean << " rate " << rate << " z " << z << " order "
                << order;
        }
}

// A run of several events costs what they cost together.
TEST(RepeatAndSelectRdp, ComposesTheEventsOfARun) {
  for (const RepetitionLaw& law : repetition_laws)
    for (const double order : {1.25, 2.0, 9.0, 100.0}) {
      const double one = bound(law, 3, order);
      EXPECT_NEAR(bound({law, {{Gaussian{6}, 4}}}, order), one, 1e-9 * one);
      EXPECT_NEAR(bound({law, {{Gaussian{6}, 2}, {PoissonGaussian{1, 6}, 2}}}, order), one, 1e-9 * one);
      EXPECT_GT(bound({law, {{Gaussian{6}, 4}, {Laplace{50}, 1}}}, order), one);
      EXPECT_GE(bound({law, {{Gaussian{3}, 1}, {NonPrivate{}, 1}}}, order), 1e300);
    }
}

// A training by sampled batches, with the theorem written out once more over the list of orders.
TEST(RepeatAndSelectRdp, IsTheTheoremForATraining) {
  const std::vector<Event> training{{PoissonGaussian{0.01, 1.1}, 1000}, {Gaussian{20}, 1}};
  const double eta = 0, gamma = 0.01, mean = (1 / gamma - 1) / std::log(1 / gamma);
  RdpAccountant one(Adjacency::add_remove);
  for (const Event& event : training) one.compose(event);
  const std::vector<double>& orders = one.orders();
  const std::vector<double>& curve = one.curve();
  double other = std::log(1 / gamma);
  for (std::size_t i = 0; i < orders.size(); ++i)
    other = std::min(other, (1 - 1 / orders[i]) * curve[i] + std::log(1 / gamma) / orders[i]);
  for (std::size_t i = 0; i < orders.size(); i += 5) {
    double smallest = 1e9;
    for (std::size_t j = i; j < orders.size(); ++j)
      smallest = std::min(smallest, curve[j] + (1 + eta) * other + std::log(mean) / (orders[j] - 1));
    EXPECT_NEAR(bound({binomial(eta, gamma), training}, orders[i]), smallest, 1e-9 * smallest);
  }
}

// What somebody pays who tunes: more than for one training, less than for all of them.
TEST(RepeatAndSelectRdp, CostsLessThanTheTrainingsThatItChoosesFrom) {
  const Event training{PoissonGaussian{0.01, 2}, 500};
  const auto epsilon_of = [](const Event& event) {
    const auto accountant = make_accountant("best", Adjacency::add_remove);
    accountant->compose(event);
    return accountant->epsilon(1e-6);
  };
  for (const RepetitionLaw& law : {binomial(0, 0.001), binomial(1, 0.01), poisson(100)}) {
    const double chosen = epsilon_of({RepeatAndSelect{law, {training}}, 1});
    EXPECT_GT(chosen, 1.5 * epsilon_of(training));
    EXPECT_LT(chosen, 0.75 * epsilon_of({PoissonGaussian{0.01, 2}, 500 * 100}));
  }
}

// What is promised outside of a part of delta only is no part of the theorem.
TEST(RepeatAndSelectRdp, RefusesRunsWithoutABoundOfTheirOwn) {
  const double order = 2;
  const auto curve = [&](const Event& event, Adjacency adjacency) {
    return rdp_curve(RepeatAndSelect{binomial(1, 0.1), {{Gaussian{3}, 1}, event}}, adjacency, std::span(&order, 1));
  };
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    EXPECT_THROW(curve({ApproxDp{1, 1e-9}, 1}, adjacency), PrivacyError);
    EXPECT_THROW(curve({Zcdp{1, 1e-9}, 1}, adjacency), PrivacyError);
    EXPECT_NO_THROW(curve({ApproxDp{1, 0}, 1}, adjacency));
    EXPECT_NO_THROW(curve({Zcdp{1}, 1}, adjacency));
  }
  EXPECT_THROW(curve({WorGaussian{100, 10, 2}, 1}, Adjacency::add_remove), PrivacyError);
  EXPECT_NO_THROW(curve({WorGaussian{100, 10, 2}, 1}, Adjacency::replace_one));
}

}  // namespace
}  // namespace dpmpi::repeat_and_select_test
