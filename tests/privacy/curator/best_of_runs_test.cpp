// Repeat and select: the law of the number of runs, the Renyi bound against exact divergences, and what the curator
// does with runs that are not selected.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>

#include "core/errors.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/accountants/rdp.hpp"
#include "privacy/accountants/rdp_accountant.hpp"
#include "privacy/curator/part_world.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/curves/repetition_law.hpp"
#include "privacy/promise/calibrate.hpp"
#include "run/directory/files.hpp"
#include "support/kolmogorov.hpp"

namespace dpmpi::best_of_runs_test {
namespace {

using test::PartWorld;
using Real = long double;

RepetitionLaw binomial(double shape, double gamma) { return {.shape = shape, .gamma = gamma}; }
RepetitionLaw poisson(double mean) { return {.distribution = Repetitions::poisson, .mean = mean}; }

/// P(k) from k = 0 on, each from its definition, until the tail is below 1e-18.
std::vector<Real> masses(const RepetitionLaw& law) {
  std::vector<Real> p;
  Real sum = 0;
  for (Real k = 0; 1 - sum > 1e-17L && k < 20000; ++k) {
    if (law.distribution == Repetitions::poisson) {
      p.push_back(std::exp(k * std::log(static_cast<Real>(law.mean)) - law.mean - std::lgamma(k + 1)));
    } else if (k == 0) {
      p.push_back(0);
    } else {
      const Real s = law.shape, g = law.gamma;
      if (s == 0)
        p.push_back(std::pow(1 - g, k) / (k * std::log(1 / g)));
      else  // binom(k+s-1, k) = Gamma(k+s) / (Gamma(s) k!), of the sign of s where s > -1
        p.push_back(
            std::pow(1 - g, k) *
            std::exp(std::lgamma(k + s) - std::lgamma(std::abs(s) < 1e-9L ? 1 : 1 + s) - std::lgamma(k + 1)) * s /
            (std::pow(g, -s) - 1));
    }
    sum += p.back();
  }
  return p;
}

const std::vector<RepetitionLaw> laws{binomial(1, 0.2), binomial(0, 0.1),    binomial(-0.5, 0.05),
                                      binomial(3, 0.3), binomial(0.5, 0.02), binomial(1, 0.95),
                                      poisson(0.3),     poisson(1),          poisson(8)};

TEST(Repetitions, ExpectationIsThatOfTheMasses) {
  for (const RepetitionLaw& law : laws) {
    Real sum = 0, mean = 0;
    const auto p = masses(law);
    for (std::size_t k = 0; k < p.size(); ++k) sum += p[k], mean += static_cast<Real>(k) * p[k];
    EXPECT_NEAR(static_cast<double>(sum), 1, 1e-13);
    EXPECT_NEAR(expected_repetitions(law) / static_cast<double>(mean), 1, 1e-12) << law.shape << " " << law.gamma;
  }
  EXPECT_NEAR(expected_repetitions(binomial(1, 1e-3)), 1000, 1e-9) << "geometric: 1 / gamma";
  EXPECT_NEAR(expected_repetitions(binomial(1e-13, 0.1)) / expected_repetitions(binomial(0, 0.1)), 1, 1e-11);
}

// Words at equal distances fall on k as often as the law says, to a word or two: the inverse of its distribution.
TEST(Repetitions, AreDrawnByTheirMasses) {
  constexpr std::uint64_t words = 1 << 16;
  for (const RepetitionLaw& law : laws) {
    std::map<std::uint64_t, double> counts;
    for (std::uint64_t i = 0; i < words; ++i) counts[repetitions(law, (i << 48) + (1ULL << 47))] += 1;
    const auto p = masses(law);
    for (std::size_t k = 0; k < p.size(); ++k)
      ASSERT_NEAR(counts[k], static_cast<double>(p[k]) * words, 1.001) << law.shape << " " << law.gamma << " " << k;
  }
  for (const std::uint64_t extreme : {std::uint64_t{0}, ~std::uint64_t{0}})
    for (const RepetitionLaw& law : laws) EXPECT_LT(repetitions(law, extreme), 20000u);
  EXPECT_EQ(repetitions(poisson(0.3), 0), 0u);
  EXPECT_EQ(repetitions(binomial(1, 0.2), 0), 1u);
}

using Rational = boost::multiprecision::cpp_rational;
using Digits = boost::multiprecision::cpp_bin_float_100;

/// Of the 2^63 even words (the last bit decides nothing), how many give each number, from the law's least one on. A
/// larger word never gives less: the first word that gives more is found by bisection, from where `masses` expect
/// it.
std::vector<std::uint64_t> words_drawn(const RepetitionLaw& law, const std::vector<Digits>& masses) {
  constexpr std::uint64_t all = std::uint64_t{1} << 63;
  const std::uint64_t greatest = repetitions(law, ~std::uint64_t{0});
  std::vector<std::uint64_t> counts;
  std::uint64_t first = 0;
  for (std::uint64_t k = law.distribution == Repetitions::poisson ? 0 : 1; k < greatest; ++k) {
    if (repetitions(law, 2 * first) > k) {
      counts.push_back(0);
      continue;
    }
    std::uint64_t low = first, high = all - 1;  // which give k, and more
    const auto narrow = [&](std::uint64_t word) { (repetitions(law, 2 * word) > k ? high : low) = word; };
    const auto expected =
        first + static_cast<std::uint64_t>(std::ldexp(static_cast<Real>(masses[counts.size()]), 63));
    for (const std::uint64_t near : {expected - 4, expected + 4})
      if (near > low && near < high) narrow(near);
    while (high - low > 1) narrow(low + (high - low) / 2);
    counts.push_back(high - first);
    first = high;
  }
  counts.push_back(all - first);
  return counts;
}

/// As many masses as are asked for, from the least number on, by the definition in 100 digits.
std::vector<Digits> stated_masses(const RepetitionLaw& law, std::size_t count) {
  const Digits gamma = law.gamma, s = law.shape, mean = law.mean;
  const bool poisson = law.distribution == Repetitions::poisson;
  std::vector<Digits> p{poisson  ? Digits(exp(-mean))
                        : s == 0 ? Digits((1 - gamma) / -log(gamma))
                                 : Digits((1 - gamma) * s / (pow(gamma, -s) - 1))};
  while (p.size() < count) {
    const auto k = static_cast<double>(p.size());
    p.push_back(p.back() * (poisson ? Digits(mean / k) : Digits((1 - gamma) * (k + s) / (k + 1))));
  }
  return p;
}

// What docs/theory/selection.md states of the drawn law, and what the plan charges for it: counted over all 2^64
// words, against the law in 100 digits.
TEST(Repetitions, AreDrawnByTheLawUpToWhatIsCharged) {
  std::vector<RepetitionLaw> all = laws;
  for (const auto& law : {binomial(-0.9, 0.02), binomial(-0.999, 0.05), binomial(1e-13, 0.1), binomial(100, 0.9),
                          binomial(1, 0.99999), poisson(1e-9), poisson(60)})
    all.push_back(law);
  for (const RepetitionLaw& law : all) {
    SCOPED_TRACE(std::to_string(law.shape) + " " + std::to_string(law.gamma) + " " + std::to_string(law.mean));
    const std::vector<Digits> stated = stated_masses(law, 4000);
    const std::vector<std::uint64_t> drawn = words_drawn(law, stated);
    ASSERT_LT(drawn.size(), stated.size());
    Digits distance = 0, rest = 1;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      distance += abs(drawn[i] * pow(Digits(2), -63) - stated[i]) / 2;
      rest -= stated[i];
    }
    const double off = static_cast<double>(Digits(distance + abs(rest) / 2));
    const double mean = std::max(1.0, expected_repetitions(law));
    EXPECT_LE(off, 0x1p-46 * mean);
    EXPECT_LE(off, static_cast<double>(drawn.size()) * 0x1p-64 + mean * 0x1p-60);
  }
}

// A geometric law has rational masses: each number is given by the nearest whole number of the 2^63 words, but for
// the last bits of the mass.
TEST(Repetitions, OfAGeometricLawAreDrawnByRationalMasses) {
  for (const double gamma : {0.5, 0.2, 0.95}) {
    const RepetitionLaw law = binomial(1, gamma);
    Rational mass(gamma), worst = 0;
    for (const std::uint64_t words : words_drawn(law, stated_masses(law, 400))) {
      worst = std::max<Rational>(worst, abs(words - mass * (std::uint64_t{1} << 63)));
      mass *= 1 - Rational(gamma);
    }
    EXPECT_LE(static_cast<double>(worst), 4) << gamma;
  }
}

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
  for (const RepetitionLaw& law : laws)
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
TEST(RepeatAndSelectRdp, CalibratesAndGrowsSlowlyWithTheRuns) {
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
  for (const RepetitionLaw& law : laws)
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
  for (const RepetitionLaw& law : laws)
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

QuerySpec spec(RepetitionLaw law, double z = 1, std::uint64_t steps = 1) {
  return {.name = "best",
          .dim = 1,
          .sampling = FullBatch{},
          .bound = {1},
          .noise_multiplier = z,
          .steps = steps,
          .kind = BestOfRuns{law, 3}};
}

/// Adds the first feature, cut to [-1, 1], of every record.
Kernel features(double weight) {
  return [weight](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    for (const std::uint32_t i : rows.index) {
      const double v = std::clamp(weight * double{rows.records.row_f32(i)[0]}, -bound.clip, bound.clip);
      sum.begin(1);
      sum.add(0, std::span(&v, 1));
    }
  };
}

// The smallest of K sums of noise has the distribution 1 - f(1 - Phi), and the numbers of the selected run are
// uniform, independent of it and of each other.
TEST(BestOfRuns, ReleasesTheSmallestOfKRuns) {
  constexpr std::uint64_t releases = 3000;
  const double gamma = 0.25;
  PartWorld world(spec(binomial(1, gamma), 1, releases));
  std::vector<double> normal, uniform, product;
  for (std::uint64_t t = 0; t < releases; ++t) {
    const auto best = world.curator->best_of_runs(world.query, t, [](std::span<const double>) {
      return Repetition{[](const Rows&, const L2Bound&, LatticeAccumulator&) {}};
    });
    ASSERT_TRUE(best.any);
    const double above = std::erfc(best.sum / world.query.noise_std / std::sqrt(2.0)) / 2;  // 1 - Phi
    uniform.push_back(gamma * above / (1 - (1 - gamma) * above));                           // f
    for (const double u : best.uniforms) EXPECT_TRUE(u > 0 && u < 1);
    product.push_back(best.uniforms[0]);
    uniform.push_back(best.uniforms[2]);
  }
  for (auto* values : {&uniform, &product}) {
    std::sort(values->begin(), values->end());
    double distance = 0;
    const auto n = static_cast<double>(values->size());
    for (std::size_t i = 0; i < values->size(); ++i)
      distance = std::max(distance, std::abs((*values)[i] - (static_cast<double>(i) + 0.5) / n));
    EXPECT_GT(test::kolmogorov(std::sqrt(n) * distance), 1e-3);
  }
}

// A Poisson law may have no run: then nothing of the records is released.
TEST(BestOfRuns, MayHaveNoRun) {
  constexpr std::uint64_t releases = 400;
  PartWorld world(spec(poisson(1), 1, releases));
  double none = 0;
  for (std::uint64_t t = 0; t < releases; ++t) {
    int runs = 0;
    const auto best = world.curator->best_of_runs(world.query, t, [&](std::span<const double>) {
      ++runs;
      return Repetition{features(1)};
    });
    EXPECT_EQ(best.any, runs > 0);
    none += runs == 0 ? 1 : 0;
    if (!best.any) {
      EXPECT_EQ(best.sum, 0);
    }
  }
  EXPECT_NEAR(none / releases, std::exp(-1), 4 * std::sqrt(0.23 / releases));
}

// Exact sensitivity, in integers: a run's sum moves by the bound and its rounding at most.
TEST(BestOfRuns, ARecordMovesARunByAtMostTheSensitivity) {
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    std::vector<double> sums;
    double sensitivity = 0;
    for (const bool neighbour : {false, true}) {
      PartWorld world(spec(binomial(1, 0.999999)), adjacency);
      Records& records = world.shard.blocks[3].records;
      records.f32[5 * records.stride] = 1e30f;
      if (neighbour && adjacency == Adjacency::add_remove) test::remove_record(records, 5);
      if (neighbour && adjacency == Adjacency::replace_one) records.f32[5 * records.stride] = -1e30f;
      world.start();
      sums.push_back(
          world.curator
              ->best_of_runs(world.query, 0, [](std::span<const double>) { return Repetition{features(1)}; })
              .sum);
      sensitivity = world.query.sensitivity;
    }
    EXPECT_LE(std::abs(sums[0] - sums[1]), sensitivity);
    EXPECT_GT(std::abs(sums[0] - sums[1]), 0.999 * sensitivity);
  }
}

// The score decides, its public part included; what is released of it is the noisy sum.
TEST(BestOfRuns, SelectsBySumAndOffset) {
  PartWorld world(spec(binomial(1, 0.02), 1e-6));
  double least = 1e9;
  const auto best = world.curator->best_of_runs(world.query, 0, [&](std::span<const double> uniforms) {
    least = std::min(least, uniforms[0]);
    return Repetition{[](const Rows&, const L2Bound&, LatticeAccumulator&) {}, 1000 * uniforms[0]};
  });
  EXPECT_EQ(best.uniforms[0], least);
  EXPECT_LT(std::abs(best.sum), 1e-3);
}

// Plan, ledger and files: one event, nothing of the number of runs.
TEST(BestOfRuns, LedgerEqualsPlanAndSaysNothingOfTheRuns) {
  const auto line = [](std::uint64_t key) {
    PartWorld world(spec(binomial(1, 0.01), 3), Adjacency::replace_one, key);
    int runs = 0;
    world.curator->best_of_runs(world.query, 0, [&](std::span<const double>) {
      ++runs;
      return Repetition{features(1)};
    });
    EXPECT_EQ(world.ledger->events(), world.query.events(0, 1));
    EXPECT_EQ(world.ledger->events(),
              (std::vector<Event>{{RepeatAndSelect{binomial(1, 0.01), {{Gaussian{3}, 1}}}, 1}}));
    return std::pair(runs, read_file(world.path));
  };
  const auto a = line(1), b = line(2);
  EXPECT_NE(a.first, b.first);
  EXPECT_EQ(a.second, b.second) << "the ledger is that of any number of runs";
}

// A release that was interrupted and is done again is the same release; a second one is refused.
TEST(BestOfRuns, IsOneReleaseHoweverOftenItIsBegun) {
  PartWorld world(spec(binomial(1, 0.1)));
  const auto program = [](std::span<const double>) { return Repetition{features(1)}; };
  const auto content = [](const Selection& s) {
    return std::pair(s.sum, std::vector<double>(s.uniforms.begin(), s.uniforms.end()));
  };
  const auto first = content(world.curator->best_of_runs(world.query, 0, program));
  EXPECT_THROW(world.curator->best_of_runs(world.query, 0, program), PrivacyError);
  EXPECT_THROW(world.curator->best_of_runs(world.query, 1, program), PrivacyError) << "not in the plan";
  world.start();
  world.curator->resume_at(0);
  EXPECT_EQ(content(world.curator->best_of_runs(world.query, 0, program)), first);
  world.start();
  world.curator->resume_at(1);
  EXPECT_THROW(world.curator->best_of_runs(world.query, 0, program), PrivacyError);
}

TEST(BestOfRuns, RefusesNoiseWithoutAnalysis) {
  QuerySpec discrete = spec(binomial(1, 0.1));
  discrete.noise = Noise::discrete_gaussian;
  EXPECT_THROW(Query::declare(discrete, 0, Adjacency::add_remove, 100), PrivacyError);
}

}  // namespace
}  // namespace dpmpi::best_of_runs_test
