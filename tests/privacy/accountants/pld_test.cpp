#include "privacy/accountants/pld.hpp"
#include "privacy/accountants/best.hpp"
#include "privacy/accountants/rdp_accountant.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/accountants/pure.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/events/group.hpp"
#include "privacy/mnist_run.hpp"
#include "support/special_numbers.hpp"

namespace dpmpi::pld_test {
namespace {

using test::infinity;
constexpr auto add_remove = Adjacency::add_remove, replace_one = Adjacency::replace_one;

PldAccountant composed(const std::vector<Event>& events, Adjacency adjacency = add_remove) {
  PldAccountant accountant(adjacency);
  accountant.compose(events);
  return accountant;
}

// The certified interval holds `exact` and is narrow.
void expect_epsilon(const std::vector<Event>& events, double delta, double exact, double width,
                    Adjacency adjacency = add_remove) {
  const PldAccountant accountant = composed(events, adjacency);
  EXPECT_LE(accountant.least_epsilon(delta), exact * (1 + 1e-12)) << "delta " << delta;
  EXPECT_GE(accountant.epsilon(delta), exact * (1 - 1e-12)) << "delta " << delta;
  EXPECT_LE(accountant.epsilon(delta) - accountant.least_epsilon(delta), width * exact) << "delta " << delta;
}

struct Published {
  std::vector<Event> events;
  double delta, epsilon, digits;  // an upper bound by an independent program, printed to this relative precision
  Adjacency adjacency = add_remove;
};

using test::mnist_delta, test::mnist_rate;

std::vector<Published> published() {
  const auto steps = [](double q, double z, std::uint64_t count) { return Event{PoissonGaussian{q, z}, count}; };
  const std::vector<Event> ledger = {steps(mnist_rate, 3.257319, 293), steps(mnist_rate, 12.187771, 2051),
                                     steps(mnist_rate, 22.567367, 2344)};
  std::vector<Event> longer = ledger;
  longer.push_back({Gaussian{200}, 1});
  return {
      {{steps(.01, 1, 1000)}, 1e-5, 1.82823841, 1e-6},
      {{steps(.01, .5, 1000)}, 1e-5, 2.84344582, 1e-6, replace_one},
      {{steps(.01, 1.2, 500), steps(.02, 1.5, 300), {Gaussian{20}, 2}}, 1e-6, 1.64656646, 1e-6},
      {{{Gaussian{10}, 10}}, 1e-5, 1.19936969, 1e-6},
      {ledger, mnist_delta, 0.915510208, 1e-6},
      {longer, mnist_delta, 0.915725454, 1e-6},
      {{steps(mnist_rate, 8.493328, 2344), steps(mnist_rate, 20.80432, 7032)}, mnist_delta, 0.91828855, 1e-6},
      {{steps(mnist_rate, 8.493328 / 2, 2344), steps(mnist_rate, 20.80432 / 2, 7032)},
       mnist_delta,
       1.955530989,
       1e-6,
       replace_one},
      {{steps(.01, 1, 1000)}, 1e-6, 2.1246, 3e-5},
      {{steps(.01, .5, 1000)}, 1e-6, 3.2143, 3e-5, replace_one},
      {{steps(.01, 2, 5000)}, 1e-7, 1.8697, 3e-5},
      {{steps(.01, 1, 5000)}, 1e-7, 3.6540, 3e-5, replace_one},
      {{steps(256.0 / 60000, 1.1, 14062)}, 1e-5, 2.3822, 3e-5},
      {{steps(256.0 / 60000, .55, 14062)}, 1e-5, 4.2217, 3e-5, replace_one},
      {{steps(.1, 4, 500)}, 1e-6, 2.6482, 3e-5},
      {{steps(.1, 2, 500)}, 1e-6, 5.5365, 3e-5, replace_one},
      {{{Gaussian{5}, 20}}, 1e-6, 4.3058437, 1e-6},
  };
}

// A5 and T7 of heavy tails are among them: replace_one beside add_remove, whose epsilons are smaller.
// A3 of min-max methods.
TEST(PldAccountant, PublishedValues) {
  for (const Published& x : published()) {
    const PldAccountant accountant = composed(x.events, x.adjacency);
    EXPECT_LE(accountant.least_epsilon(x.delta), x.epsilon * (1 + x.digits));
    EXPECT_LE(accountant.epsilon(x.delta), x.epsilon * 1.001);
    EXPECT_GE(accountant.epsilon(x.delta), x.epsilon * 0.9995);  // theirs are above the exact value by less
  }
}

// A4 of heavy tails: rate 1.
TEST(PldAccountant, GaussianAgainstItsClosedForm) {
  for (const double mu : {.01, .03, .1, .3, 1., 3., 10.})
    for (const double delta : {1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12}) {
      SCOPED_TRACE("mu " + std::to_string(mu));
      const double exact = gdp_epsilon(mu, delta);
      if (exact > 0)
        expect_epsilon({{Gdp{mu}, 1}}, delta, exact, 1e-4);
      else
        EXPECT_EQ(composed({{Gdp{mu}, 1}}).epsilon(delta), 0);
    }
}

TEST(PldAccountant, GaussianDeltaAgainstItsClosedForm) {
  for (const double mu : {.02, .5, 2., 6.})
    for (const double epsilon : {0., .1, 1., 4., 20.}) {
      const double exact = gdp_delta(mu, epsilon);
      if (exact < 1e-200) continue;
      const PldAccountant accountant = composed({{Gaussian{1 / mu}, 1}});
      EXPECT_LE(accountant.least_delta(epsilon), exact * (1 + 1e-12)) << mu << ' ' << epsilon;
      EXPECT_GE(accountant.delta(epsilon), exact * (1 - 1e-12)) << mu << ' ' << epsilon;
      EXPECT_LE(accountant.delta(epsilon), accountant.least_delta(epsilon) * 1.01) << mu << ' ' << epsilon;
    }
}

// Trees and the like merge with Gaussians into one mu, whatever the grid.
TEST(PldAccountant, GaussiansMergeExactly) {
  const Tree tree{.strategy = Strategy::fenwick, .leaves = 8, .noise_multiplier = 6};  // a leaf is in 4 nodes
  const double mu = std::sqrt(4.0 / 36 + 7 * 0.04 + 0.25 + 0.01);
  expect_epsilon({{tree, 1}, {Gaussian{5}, 7}, {Gdp{0.5}, 1}, {PoissonGaussian{1, 10}, 1}}, 1e-6,
                 gdp_epsilon(mu, 1e-6), 1e-4);
}

// One use of Laplace noise: delta = 1 - e^((epsilon - 1/scale) / 2).
TEST(PldAccountant, LaplaceAgainstItsClosedForm) {
  for (const double scale : {.1, .7, 1., 5., 100.})
    for (const double delta : {1e-12, 1e-6, 1e-3, 1e-1}) {
      const double exact = 1 / scale + 2 * std::log1p(-delta);
      if (exact > 0) expect_epsilon({{Laplace{scale}, 1}}, delta, exact, 1e-4);
    }
}

// delta(epsilon) of one sampled use is q delta_base(log(1 + (e^epsilon - 1) / q)) in one direction, and in the
// other (e^epsilon stands for g) g E_Q (1/g - ...)_+: here by the symmetry H_g(Q||P) = 1 - g + g H_(1/g)(P||Q).
TEST(PldAccountant, OneSampledLaplaceAgainstItsClosedForm) {
  const double q = 0.1, scale = 0.5;
  const auto base = [&](double gamma) {  // of the pair without sampling, for all gamma
    if (gamma <= std::exp(-1 / scale)) return 1 - gamma;
    return gamma >= std::exp(1 / scale) ? 0 : 1 - std::sqrt(gamma) * std::exp(-0.5 / scale);
  };
  const auto remove = [&](double gamma) { return gamma <= 1 - q ? 1 - gamma : q * base((gamma - 1 + q) / q); };
  for (const double epsilon : {0., .05, .2, .4}) {
    const double gamma = std::exp(epsilon);
    const double exact = std::max(remove(gamma), 1 - gamma + gamma * remove(1 / gamma));
    const PldAccountant accountant = composed({{PoissonLaplace{q, scale}, 1}});
    EXPECT_LE(accountant.least_delta(epsilon), exact * (1 + 1e-12));
    EXPECT_GE(accountant.delta(epsilon), exact * (1 - 1e-12));
    EXPECT_LE(accountant.delta(epsilon) - accountant.least_delta(epsilon), 0.005 * exact);
  }
}

// Kairouz, Oh and Viswanath 2015, Thm. 3.3: k uses of an (epsilon, delta)-DP mechanism.
double optimal_composition_delta(double epsilon, double delta, int k, double at) {
  long double sum = 0;
  for (int l = 0; l <= k; ++l) {  // losses of (2l - k) epsilon
    const long double loss = (2.0L * l - k) * static_cast<long double>(epsilon);
    if (loss <= at) continue;
    const long double log_mass = std::lgamma(k + 1.0L) - std::lgamma(l + 1.0L) - std::lgamma(k - l + 1.0L) +
                                 l * static_cast<long double>(epsilon) -
                                 k * std::log1p(std::exp((long double)epsilon));
    sum += std::exp(log_mass) * -std::expm1(static_cast<long double>(at) - loss);
  }
  const long double none = std::pow(1 - static_cast<long double>(delta), static_cast<long double>(k));
  return static_cast<double>(1 - none + none * sum);
}

TEST(PldAccountant, ApproximateDpAgainstOptimalComposition) {
  for (const auto& [epsilon, delta, k] : {std::tuple{.1, 1e-8, 100}, {1., 0., 1}, {.5, 1e-7, 30}, {.01, 0., 5000}})
    for (const double share : {0., .2, .5, .9}) {
      const double at = share * std::min(epsilon * k, 5 * epsilon * std::sqrt(k));
      const double exact = optimal_composition_delta(epsilon, delta, k, at);
      const PldAccountant accountant = composed({{ApproxDp{epsilon, delta}, static_cast<std::uint64_t>(k)}});
      EXPECT_LE(accountant.least_delta(at), exact * (1 + 1e-9)) << epsilon << ' ' << at;
      EXPECT_GE(accountant.delta(at), exact * (1 - 1e-9)) << epsilon << ' ' << at;
      EXPECT_LE(accountant.delta(at) - accountant.least_delta(at), 1e-5 * exact) << epsilon << ' ' << at;
    }
}

TEST(PldAccountant, CertainFailureHasNoEpsilon) {
  const PldAccountant accountant = composed({{ApproxDp{0.1, 1e-3}, 10}});
  EXPECT_EQ(accountant.epsilon(1e-3), infinity);
  EXPECT_EQ(accountant.least_epsilon(1e-3), infinity);
  EXPECT_LT(accountant.epsilon(1.1e-2), 1.0);
  EXPECT_EQ(composed({{ApproxDp{0, 1e-3}, 1}}).epsilon(2e-3), 0);
}

// One exponential mechanism: H_gamma = (sqrt(E) - sqrt(gamma))^2 / (E - 1), attained for each gamma, if not by one
// mechanism for all of them.
TEST(PldAccountant, OneExponentialMechanism) {
  const double epsilon = 1;
  for (const double at : {0., .3, .9}) {
    const double root = std::exp(epsilon / 2) - std::exp(at / 2);
    const PldAccountant accountant = composed({{Exponential{epsilon}, 1}});
    EXPECT_GE(accountant.delta(at), root * root / std::expm1(epsilon) * (1 - 1e-12));
    EXPECT_LE(accountant.delta(at), root * root / std::expm1(epsilon) * 1.001);
    EXPECT_LE(accountant.least_delta(at), root * root / std::expm1(epsilon));
  }
}

// Two outcomes whose scores a record moves in opposite directions are one exponential mechanism; composing it must
// not show less than the bound.
TEST(PldAccountant, ExponentialMechanismsCoverTheirInstances) {
  for (const std::uint64_t k : {1, 10, 100}) {
    const PldAccountant bound = composed({{Exponential{.2}, k}});
    EXPECT_GE(bound.epsilon(1e-6), composed({{ApproxDp{.1, 0}, k}}).least_epsilon(1e-6));
    EXPECT_LE(bound.epsilon(1e-6), composed({{ApproxDp{.2, 0}, k}}).epsilon(1e-6));
    EXPECT_LE(bound.least_epsilon(1e-6), bound.epsilon(1e-6));
  }
}

// Replacing is removing and adding: (e, d) under add_remove gives (2e, (1 + e^e) d), with the same noise.
TEST(PldAccountant, AddRemoveImpliesReplaceOne) {
  for (const double z : {.7, 1.5, 6.})
    for (const std::uint64_t count : {1, 300}) {
      const double epsilon = composed({{PoissonGaussian{.02, z}, count}}).epsilon(1e-6);
      const PldAccountant replaced = composed({{PoissonGaussian{.02, z / 2}, count}}, replace_one);
      EXPECT_LE(replaced.least_epsilon((1 + std::exp(epsilon)) * 1e-6), 2 * epsilon) << z << ' ' << count;
      EXPECT_GE(replaced.epsilon(1e-6), composed({{PoissonGaussian{.02, z}, count}}).least_epsilon(1e-6));
    }
}

// A group of one is one record, whatever pair says so; and a group that is drawn as a whole bounds the others.
TEST(PldAccountant, GroupsOfOneAndOfMany) {
  const auto epsilon = [](const Mechanism& m, std::uint64_t count) {
    PldAccountant accountant(Adjacency::add_remove);
    accountant.compose({m, count});
    return accountant.epsilon(1e-6);
  };
  for (const double rate : {1e-3, 0.05, 0.7})
    EXPECT_NEAR(epsilon(PoissonGaussianGroup{rate, 1.5, 1}, 200) / epsilon(PoissonGaussian{rate, 1.5}, 200), 1,
                2e-4)
        << rate;
  for (const std::uint64_t size : {2U, 20U, 300U}) {
    const PoissonGaussianGroup group{0.01, 2 * static_cast<double>(size), size};
    EXPECT_LT(epsilon(group, 100), epsilon(drawn_together(group), 100)) << size;
    EXPECT_GT(epsilon(group, 100), epsilon(PoissonGaussian{0.01, 2 * static_cast<double>(size)}, 100)) << size;
  }
  // Of which nobody is drawn with a chance below all rounding. Half of it is, on average: as if each moved by 1/2.
  for (const std::uint64_t size : {49U, 50U, 100U}) {
    const double per_record = 10;
    const PoissonGaussianGroup group{0.5, per_record * static_cast<double>(size), size};
    EXPECT_LT(epsilon(group, 100), 1.1 * epsilon(Gaussian{2 * per_record}, 100)) << size;
    EXPECT_GT(epsilon(group, 100), epsilon(Gaussian{2 * per_record}, 100)) << size;
  }
}

TEST(PldAccountant, IntervalsAreNarrowAndBelowRenyiBounds) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit;
  int judged = 0;
  for (int i = 0; i < 60; ++i) {
    const double q = std::pow(10, -3.5 + 3 * unit(random)), z = std::pow(10, -0.3 + unit(random));
    const auto count = static_cast<std::uint64_t>(std::pow(10, 4 * unit(random)));
    const double delta = std::pow(10, -3 - 9 * unit(random));
    const Adjacency adjacency = i % 2 ? add_remove : replace_one;
    SCOPED_TRACE(to_json({PoissonGaussian{q, z}, count}) + " delta " + std::to_string(std::log10(delta)));
    const PldAccountant accountant = composed({{PoissonGaussian{q, z}, count}}, adjacency);
    const double most = accountant.epsilon(delta), least = accountant.least_epsilon(delta);
    RdpAccountant renyi(adjacency);
    renyi.compose({PoissonGaussian{q, z}, count});
    EXPECT_LE(least, most);
    EXPECT_LE(least, renyi.epsilon(delta));
    EXPECT_LE(most, renyi.epsilon(delta) * (1 + 1e-9));
    if (most < 0.1 || most > 20) continue;
    ++judged;
    EXPECT_LE(most - least, 0.005 * most);
    EXPECT_LE(accountant.least_delta(most), delta * 1.0001);  // the two searches agree
    EXPECT_GE(accountant.delta(least), delta * 0.9999);
  }
  EXPECT_GE(judged, 20);
}

// A rate near 1 gives next to nothing away or gained: the losses are those of the Gaussian, though they end at
// log(1 - q).
TEST(PldAccountant, RatesNearOneAreAlmostTheGaussian) {
  for (const double rate : {0.9999, 0.99999, 1 - 1e-7})
    for (const double z : {3.0, 30.0, 3000.0}) {
      const PldAccountant accountant = composed({{PoissonGaussian{rate, z}, 9}});
      const double gaussian = gdp_epsilon(3 / z, 1e-6);
      EXPECT_LE(accountant.epsilon(1e-6), gaussian * (1 + 1e-3)) << rate << " " << z;
      EXPECT_GE(accountant.least_epsilon(1e-6), gaussian * (1 - 1e-3)) << rate << " " << z;
    }
}

// One step cannot put the atoms of all of them on its grid.
TEST(PldAccountant, AtomsOfDifferentSpansCloseTheInterval) {
  const std::vector<Event> pure = {{ApproxDp{0.01, 0}, 400}, {ApproxDp{0.0234, 0}, 400}};
  OptimalCompositionAccountant optimal(add_remove);
  optimal.compose(pure);
  expect_epsilon(pure, 1e-6, optimal.epsilon(1e-6), 5e-4);

  const std::vector<Event> lists[] = {
      {{ApproxDp{0.001, 0}, 100000}, {ApproxDp{0.00234, 0}, 100000}},
      {{PoissonLaplace{0.01, 1}, 10000}, {PoissonLaplace{0.023, 1.5}, 10000}},
      {{PoissonGaussian{0.99994, 4745}, 1}, {Laplace{23733}, 257574}, {Laplace{21.83}, 1}}};
  for (const auto& events : lists) {
    const PldAccountant accountant = composed(events);
    const double most = accountant.epsilon(1e-6);
    EXPECT_LE(most - accountant.least_epsilon(1e-6), 0.005 * most) << to_json(events.front());
  }
}

// A7 of min-max methods.
TEST(PldAccountant, MoreNoiseLessSamplingFewerStepsAreBetter) {
  const auto at = [](double q, double z, std::uint64_t count, double delta) {
    const PldAccountant accountant = composed({{PoissonGaussian{q, z}, count}});
    return std::pair(accountant.least_epsilon(delta), accountant.epsilon(delta));
  };
  const auto [least, most] = at(.01, 1, 1000, 1e-6);
  for (const auto& better :
       {at(.01, 1.01, 1000, 1e-6), at(.0099, 1, 1000, 1e-6), at(.01, 1, 980, 1e-6), at(.01, 1, 1000, 1.1e-6)}) {
    EXPECT_LT(better.first, least);
    EXPECT_LT(better.second, most);
    EXPECT_LE(better.first, most);
  }
}

TEST(PldAccountant, DependsNeitherOnOrderNorOnGrouping) {
  const Mechanism a = PoissonGaussian{.02, 1.3}, b = Laplace{9}, c = Gaussian{12};
  PldAccountant one_by_one(add_remove);
  for (int i = 0; i < 50; ++i) {
    one_by_one.compose({a, 1});
    one_by_one.compose({b, 1});
    one_by_one.compose({c, 1});
  }
  const PldAccountant grouped = composed({{c, 20}, {b, 50}, {a, 50}, {c, 30}});
  EXPECT_EQ(one_by_one.epsilon(1e-6), grouped.epsilon(1e-6));  // the same bits
  EXPECT_EQ(one_by_one.least_epsilon(1e-6), grouped.least_epsilon(1e-6));
}

TEST(PldAccountant, LongRunsAreQuick) {
  const auto start = std::chrono::steady_clock::now();
  PldAccountant accountant(add_remove);
  for (int i = 0; i < 1'000'000; ++i) accountant.compose({PoissonGaussian{.001, 2}, 1});
  const double epsilon = accountant.epsilon(1e-6);
  EXPECT_GT(epsilon, 1);
  EXPECT_LE(epsilon - accountant.least_epsilon(1e-6), 0.005 * epsilon);
  EXPECT_EQ(composed({{PoissonGaussian{.001, 2}, 1'000'000}}).epsilon(1e-6), epsilon);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 20);  // sanitizers too
}

// Where one rare loss outweighs all others, the best Chernoff bound is a hundred times epsilon, and a grid that
// suits it does not tell epsilon from 0.
TEST(PldAccountant, KnowsEpsilonAtTinyRates) {
  for (const double z : {.4, .53, .566, .6, 1.}) {
    const PldAccountant few = composed({{PoissonGaussian{1e-5, z}, 100}});
    EXPECT_LE(few.epsilon(1e-7), few.least_epsilon(1e-7) * 1.001) << z;
    EXPECT_GT(few.least_epsilon(1e-7), 0) << z;
  }
}

// What is charged for rounding and for losses beyond the grid does not shrink with the step: where a finer grid
// moves neither bound, larger ones are not tried (they had 2^20 points); nor in the direction that is known well
// enough.
TEST(PldAccountant, TriesNoLargerGridsWhereTheyTellNoMore) {
  EXPECT_LE(composed({{PoissonGaussian{9.25e-6, .2451796}, 6}}, replace_one).grids(8.84e-10).points(), 1u << 15);
  EXPECT_LE(composed({{PoissonGaussian{1e-6, .1824055}, 100}}, replace_one).grids(1e-7).points(), 1u << 16);
  const auto rare = composed({{PoissonGaussian{3.14e-5, .844305}, 258}}).grids(6.12e-11);
  EXPECT_EQ(rare.forward, 1u << 20);
  EXPECT_LE(rare.backward, 1u << 16);
}

// The same grids, or what to use in their place.
TEST(PldAccountant, GridsWithinALimit) {
  const PldAccountant small = composed({{PoissonGaussian{.01, 1}, 1000}});
  const auto [grids, settled] = small.grids_within(1u << 17, 1e-6);
  ASSERT_TRUE(settled);
  EXPECT_EQ(grids, composed({{PoissonGaussian{.01, 1}, 1000}}).grids(1e-6));
  EXPECT_LE(small.epsilon_on(grids, 1e-6), small.epsilon(1e-6) * (1 + 1e-9));
  const PldAccountant large = composed({{PoissonGaussian{5.149e-6, .2662569}, 981923}}, replace_one);
  EXPECT_FALSE(large.grids_within(1u << 17, 5.14e-7).settled);
  EXPECT_EQ(large.grids(5.14e-7).forward, 1u << 20);
  EXPECT_GE(large.rough_epsilon(5.14e-7), large.epsilon(5.14e-7));
  // The other direction says enough on small grids; on large ones it costs five times as much as this one.
  const PldAccountant one_way = composed({{PoissonLaplace{4.45e-4, .1561}, 177}});
  const auto [some, enough] = one_way.grids_within(1u << 17, 5.7e-11);
  EXPECT_FALSE(enough);
  EXPECT_EQ(some, (PldAccountant::Grids{1u << 17, 1u << 12}));
}

TEST(PldAccountant, EndsOfTheRange) {
  EXPECT_EQ(PldAccountant(add_remove).epsilon(1e-6), 0);
  EXPECT_EQ(PldAccountant(add_remove).delta(0), 0);
  const PldAccountant open = composed({{Gaussian{1}, 1}, {NonPrivate{}, 1}});
  EXPECT_EQ(open.epsilon(1e-6), infinity);
  EXPECT_EQ(open.delta(1), 1);
  expect_epsilon({{Gaussian{3e4}, 1}}, 1e-6, gdp_epsilon(1 / 3e4, 1e-6), 1e-3);
  // Losses beyond 600 count as infinite: no number rather than a wrong one.
  const PldAccountant tiny = composed({{Gaussian{.01}, 1}});
  EXPECT_EQ(tiny.epsilon(1e-6), infinity);
  EXPECT_LE(tiny.least_epsilon(1e-6), gdp_epsilon(100, 1e-6));
  // More uses than the transform's precision can follow.
  const PldAccountant endless = composed({{PoissonGaussian{1e-6, 50}, std::uint64_t{1} << 53}});
  EXPECT_LE(endless.least_epsilon(1e-6), endless.epsilon(1e-6));
}

// BestAccountant stops if one accountant's lower bound lies above another's upper bound.
TEST(PldAccountant, ContradictsNoOtherAccountant) {
  const std::vector<Event> all = {{Gaussian{9}, 4},     {PoissonGaussian{.02, 1.1}, 200}, {Laplace{8}, 5},
                                  {Exponential{.1}, 9}, {ApproxDp{.05, 1e-12}, 6},        {Gdp{.2}, 1}};
  for (const Adjacency adjacency : {add_remove, replace_one})
    for (const double delta : {1e-3, 1e-6, 1e-10}) {
      BestAccountant together(adjacency);
      together.compose(all);
      EXPECT_GT(together.epsilon(delta), together.least_epsilon(delta));
      for (const Event& event : all) {
        BestAccountant alone(adjacency);
        alone.compose(event);
        EXPECT_GE(alone.epsilon(delta), alone.least_epsilon(delta)) << to_json(event);
        EXPECT_GE(alone.delta(.3), alone.least_delta(.3)) << to_json(event);
      }
    }
}

TEST(PldAccountant, RefusesWithReasons) {
  const auto message = [](const Mechanism& mechanism, Adjacency adjacency) -> std::string {
    PldAccountant accountant(adjacency);
    accountant.compose({Gaussian{1}, 1});
    const double before = accountant.epsilon(1e-6);
    try {
      accountant.compose({mechanism, 1});
    } catch (const PrivacyError& e) {
      EXPECT_EQ(accountant.epsilon(1e-6), before);
      return e.what();
    }
    return "accepted";
  };
  for (const Adjacency adjacency : {add_remove, replace_one})
    for (const Mechanism& m :
         {Mechanism{Zcdp{.1}}, Mechanism{DiscreteGaussian{2}}, Mechanism{PoissonDiscreteGaussian{.1, 2}},
          Mechanism{WorDiscreteGaussian{100, 10, 2}}}) {
      EXPECT_NE(message(m, adjacency).find(name(m)), std::string::npos);
      EXPECT_NE(message(m, adjacency).find(name(adjacency)), std::string::npos);
    }
  EXPECT_NE(message(WorGaussian{100, 10, 2}, add_remove).find("the same in both"), std::string::npos);
  EXPECT_EQ(message(WorGaussian{100, 10, 2}, replace_one), "accepted");
  EXPECT_EQ(message(PoissonLaplace{.1, 1}, add_remove), "accepted");
  EXPECT_NE(message(PoissonLaplace{.1, 1}, replace_one).find("replacement"), std::string::npos);
}

}  // namespace
}  // namespace dpmpi::pld_test
