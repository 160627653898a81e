#include "privacy/accountants/accountant.hpp"
#include "privacy/accountants/best.hpp"
#include "privacy/accountants/rdp_accountant.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/accountants/rdp.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/mnist_run.hpp"

namespace dpmpi::accountant_test {
namespace {

using test::mnist_delta, test::mnist_rate;

RdpAccountant composed(const std::vector<Event>& events, Adjacency adjacency = Adjacency::add_remove) {
  RdpAccountant accountant(adjacency);
  accountant.compose(events);
  return accountant;
}

// By its list of orders alone, as programs with the same list print it.
double listed_epsilon(const RdpAccountant& accountant, double delta) {
  return rdp_to_epsilon(accountant.orders(), accountant.curve(), delta).value;
}

TEST(RdpAccountant, PublishedLedgers) {
  std::vector<Event> first = {{PoissonGaussian{mnist_rate, 3.257319}, 293},
                              {PoissonGaussian{mnist_rate, 12.187771}, 2051},
                              {PoissonGaussian{mnist_rate, 22.567367}, 2344}};
  EXPECT_NEAR(listed_epsilon(composed(first), mnist_delta), 0.999999948, 1e-9);
  EXPECT_NEAR(composed(first).best_order(mnist_delta), 19, 1);
  first.push_back({Gaussian{200}, 1});
  EXPECT_NEAR(listed_epsilon(composed(first), mnist_delta), 1.000237448, 1e-9);
  const std::vector<Event> second = {{PoissonGaussian{mnist_rate, 8.493328}, 1172},
                                     {PoissonGaussian{mnist_rate, 8.493328}, 1172},
                                     {PoissonGaussian{mnist_rate, 20.804320}, 7032}};
  EXPECT_NEAR(listed_epsilon(composed(second), mnist_delta), 0.999999996, 1e-9);
}

// By another program's own list of orders; whole ones alone give 5.037 and 3.399.
TEST(RdpAccountant, PublishedEpsilonsBetweenWholeOrders) {
  EXPECT_LE(composed({{PoissonGaussian{.001, .6}, 10000}}).epsilon(1e-7), 4.669 * (1 + 1e-4));
  EXPECT_LE(composed({{PoissonGaussian{.01, .7}, 120}}).epsilon(1e-5), 3.239 * (1 + 1e-4));
}

// Against the smallest of many orders, one by one.
TEST(RdpAccountant, TakesTheBestOfAllRealOrders) {
  const std::vector<std::pair<std::vector<Event>, Adjacency>> cases = {
      {{{PoissonGaussian{.001, .6}, 10000}}, Adjacency::add_remove},
      {{{PoissonGaussian{.01, .7}, 120}, {Laplace{9}, 3}}, Adjacency::add_remove},
      {{{PoissonGaussian{.05, 2}, 900}}, Adjacency::replace_one},
      {{{PoissonGaussian{.3, .4}, 50}}, Adjacency::replace_one},
      {{{ApproxDp{.02, 1e-9}, 50}}, Adjacency::add_remove}};
  std::vector<double> many;
  for (double u = std::log(.01); u < std::log(1023.0); u += .002) many.push_back(1 + std::exp(u));
  many.push_back(1024);
  for (const auto& [events, adjacency] : cases)
    for (const double delta : {1e-3, 1e-6}) {
      const RdpAccountant real = composed(events, adjacency);
      RdpAccountant scanned(adjacency, many);
      scanned.Accountant::compose(events);
      const double least =
          rdp_to_epsilon(many, scanned.curve(), (delta - real.failure()) / (1 - real.failure()) * (1 - 0x1p-36))
              .value;
      SCOPED_TRACE(to_json(events.front()));
      EXPECT_LE(real.epsilon(delta), least * (1 + 2e-5));
      EXPECT_GE(real.epsilon(delta), least * (1 - 2e-5));
      EXPECT_NEAR(std::log(real.delta(real.epsilon(delta)) / delta), 0, 1e-4);
    }
}

TEST(RdpAccountant, WhatWasAskedBeforeChangesNoBit) {
  const std::vector<Event> events = {{PoissonGaussian{.01, .8}, 300}, {Gaussian{30}, 2}};
  RdpAccountant asked = composed({{events[0].mechanism, 100}});
  for (const double delta : {1e-2, 1e-5, 1e-11}) asked.epsilon(delta);
  for (const double epsilon : {.1, 2., 9.}) asked.delta(epsilon);
  asked.compose({events[0].mechanism, 200});
  asked.compose(events[1]);
  for (const double delta : {1e-2, 1e-5, 1e-11}) EXPECT_EQ(asked.epsilon(delta), composed(events).epsilon(delta));
}

// Half the multiplier is the same noise under replace_one. The tight value (by privacy-loss distributions)
// is 1.955531; a Renyi bound lies above it, by no more than under add_remove (1.000000 against 0.918289) and a
// little.
TEST(RdpAccountant, PublishedLedgerUnderReplaceOne) {
  const double epsilon = composed({{PoissonGaussian{mnist_rate, 8.493328 / 2}, 2344},
                                   {PoissonGaussian{mnist_rate, 20.804320 / 2}, 7032}},
                                  Adjacency::replace_one)
                             .epsilon(mnist_delta);
  EXPECT_GT(epsilon, 1.955531);
  EXPECT_LT(epsilon, 1.955531 * 1.1);
}

TEST(RdpAccountant, DependsNeitherOnOrderNorOnGrouping) {
  const Event a{PoissonGaussian{0.01, 1.1}, 1}, b{Gaussian{7.3}, 1};
  RdpAccountant one_by_one(Adjacency::add_remove);
  for (int i = 0; i < 300; ++i) {
    one_by_one.compose(a);
    one_by_one.compose(b);
  }
  const auto grouped = composed({{b.mechanism, 250}, {a.mechanism, 300}, {b.mechanism, 50}});
  EXPECT_EQ(one_by_one.curve(), grouped.curve());  // the same bits
  EXPECT_EQ(one_by_one.epsilon(1e-6), grouped.epsilon(1e-6));
}

TEST(RdpAccountant, CompositionAdds) {
  const Mechanism a = PoissonGaussian{0.01, 1.1}, b = Gaussian{7.3};
  const auto both = composed({{a, 10}, {b, 3}});
  const auto curve_a = rdp_curve(a, Adjacency::add_remove, rdp_orders());
  const auto curve_b = rdp_curve(b, Adjacency::add_remove, rdp_orders());
  for (std::size_t i = 0; i < rdp_orders().size(); ++i)
    EXPECT_NEAR(both.curve()[i], 10 * curve_a[i] + 3 * curve_b[i], 1e-15 * both.curve()[i]);
}

TEST(RdpAccountant, EpsilonGrowsWithEveryUseAndDeltaIsItsInverse) {
  RdpAccountant accountant(Adjacency::replace_one);
  EXPECT_EQ(accountant.epsilon(1e-6), 0);
  EXPECT_EQ(accountant.delta(0), 0);
  double before = 0;
  for (int i = 0; i < 20; ++i) {
    accountant.compose({PoissonGaussian{0.1, 2}, 5});
    const double epsilon = accountant.epsilon(1e-6);
    EXPECT_GT(epsilon, before);
    EXPECT_NEAR(accountant.delta(epsilon), 1e-6, 1e-14);
    before = epsilon;
  }
}

TEST(RdpAccountant, OneUnprotectedReleaseIsInfinite) {
  const auto accountant = composed({{Gaussian{100}, 1}, {NonPrivate{}, 1}});
  EXPECT_EQ(accountant.epsilon(1e-6), INFINITY);
  EXPECT_EQ(accountant.delta(50), 1);
}

TEST(RdpAccountant, RefusesWhatItHasNoBoundFor) {
  RdpAccountant accountant(Adjacency::add_remove);
  EXPECT_THROW(accountant.compose({WorGaussian{100, 10, 1}, 1}), PrivacyError);
  EXPECT_THROW(accountant.compose({Gaussian{-1}, 1}), PrivacyError);
  EXPECT_EQ(accountant.epsilon(1e-6), 0);  // nothing was added
  EXPECT_THROW(make_accountant("moments", Adjacency::add_remove), ConfigError);
}

// Without replacement at z = 20 in units of C (10 in units of 2C), as published.
TEST(RdpAccountant, SamplesOfFixedSize) {
  EXPECT_NEAR(
      listed_epsilon(composed({{WorDiscreteGaussian{60000, 2048, 10}, 2344}}, Adjacency::replace_one), mnist_delta),
      2.996821, 1e-6);
}

TEST(RdpAccountant, IsFastEnoughForEveryMetricsLine) {
  RdpAccountant accountant(Adjacency::replace_one);
  accountant.compose({PoissonGaussian{0.01, 1.1}, 1});  // the curve is computed once
  const auto start = std::chrono::steady_clock::now();
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    accountant.compose({PoissonGaussian{0.01, 1.1}, 1});
    sum += accountant.epsilon(1e-6);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_GT(sum, 0);
  EXPECT_LT(seconds.count(), 1.0);
  RecordProperty("microseconds_per_line", static_cast<int>(seconds.count() * 1e3));
}

TEST(BestAccountant, AnEventThatNobodyKnowsChangesNothing) {
  BestAccountant best(Adjacency::add_remove);
  best.compose({Gaussian{2}, 1});
  const auto refusals = best.refusals();
  const std::size_t left = best.parts().size();
  const double epsilon = best.epsilon(1e-6);
  EXPECT_THROW(best.compose({WorGaussian{100, 10, 1}, 1}), PrivacyError);
  EXPECT_EQ(best.refusals(), refusals);
  EXPECT_EQ(best.parts().size(), left);
  EXPECT_EQ(best.epsilon(1e-6), epsilon);
}

TEST(BestAccountant, NoUseOfAMechanismIsNoEvent) {
  BestAccountant best(Adjacency::add_remove);
  best.compose({Laplace{2}, 0});
  EXPECT_EQ(best.parts().size() + 1, accountant_names().size()) << best.refusals().begin()->second;
  EXPECT_EQ(best.epsilon(1e-6), 0);
}

// Squares of these parameters leave the range of a double, and a zero matrix releases noise alone.
TEST(BestAccountant, NumbersWhoseSquaresOverflowOrVanish) {
  const auto written = [](std::vector<double> matrix, double noise_multiplier) {
    Tree tree{.strategy = Strategy::explicit_matrix, .leaves = 2, .noise_multiplier = noise_multiplier};
    tree.matrix = std::move(matrix);
    return tree;
  };
  struct Case {
    Mechanism mechanism;
    double mu;
  };
  const Case cases[] = {{Gaussian{1e200}, 1e-200},
                        {Gaussian{1e-200}, 1e200},
                        {Gdp{1e-310}, 1e-310},
                        {Gdp{1e200}, 1e200},
                        {PoissonGaussian{0.5, 1e200}, 1e-200},
                        {written({0, 0, 0}, 1), 0},
                        {written({0, 0, 1e308}, 1e300), 1e8},
                        {written({1e-200, 0, 0}, 1e-200), 1},
                        {written({1e-200, 0, 0}, 1), 1e-200}};
  for (const auto& [mechanism, mu] : cases)
    for (const std::uint64_t count : {1, 7}) {
      const Adjacency adjacency = count == 1 ? Adjacency::add_remove : Adjacency::replace_one;
      const std::string what = to_json({mechanism, count}) + " under " + std::string(name(adjacency));
      BestAccountant best(adjacency);
      best.compose({mechanism, count});
      const double total = mu * std::sqrt(static_cast<double>(count)), epsilon = gdp_epsilon(total, 1e-5);
      const double found = best.epsilon(1e-5), least = best.least_epsilon(1e-5);
      EXPECT_LE(least, epsilon) << what;
      if (std::holds_alternative<PoissonGaussian>(mechanism)) {
        EXPECT_LT(found, 1e-2) << what;  // sampling only lowers it
        EXPECT_LT(best.delta(0.01), 1e-5) << what;
        continue;
      }
      EXPECT_GE(found, epsilon * (1 - 1e-12)) << what;
      EXPECT_LE(found, epsilon * (1 + 1e-9)) << what;
      EXPECT_GE(best.delta(0), gdp_delta(total, 0) * (1 - 1e-12)) << what;
      EXPECT_LE(best.least_delta(0), gdp_delta(total, 0)) << what;
    }
}

}  // namespace
}  // namespace dpmpi::accountant_test
