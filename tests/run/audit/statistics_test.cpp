// How often an audit's verdict is wrong. Mechanisms that are exactly as leaky as they promise are audited many
// times: no more of these audits than their confidence allows may find a bound above the promise, or an attacker
// better than the promised curve; and the bounds must come near it.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <boost/math/distributions/normal.hpp>

#include "run/audit/statistics.hpp"

namespace dpmpi::statistics_test {
namespace {

using Random = std::mt19937_64;

/// The largest loss that (epsilon, delta) allows: tells the bit with probability delta, and else lies with
/// probability 1 / (1 + e^epsilon).
double randomized_response(bool bit, double epsilon, double delta, Random& random) {
  std::uniform_real_distribution<double> uniform;
  const double sign = bit ? 1 : -1;
  if (uniform(random) < delta) return 2 * sign;
  return uniform(random) < 1 / (1 + std::exp(-epsilon)) ? sign : -sign;
}

/// Two normal laws that are mu apart: mu-Gaussian differential privacy.
double gaussian(bool bit, double mu, Random& random) {
  return std::normal_distribution<double>(bit ? mu : 0, 1)(random);
}
double gaussian_power(double false_alarms, double mu) {
  const boost::math::normal law;
  return 1 - boost::math::cdf(law, boost::math::quantile(law, 1 - false_alarms) - mu);
}
double gaussian_epsilon(double mu, double delta) {
  const boost::math::normal law;
  double low = 0, high = 50;
  for (int i = 0; i < 60; ++i) {
    const double e = (low + high) / 2;
    const double spent =
        boost::math::cdf(law, mu / 2 - e / mu) - std::exp(e) * boost::math::cdf(law, -mu / 2 - e / mu);
    (spent > delta ? low : high) = e;
  }
  return high;
}

/// Runs with a likelihood of this law, and noise in everything else that tests learn from.
template <class Law>
std::vector<Transcript> runs_of(std::size_t count, Random& random, Law&& likelihood) {
  std::vector<Transcript> all(count);
  std::normal_distribution<double> normal;
  for (Transcript& run : all) {
    run.likelihood = likelihood();
    for (double& x : run.steps) x = normal(random);
    for (double& x : run.coordinates) x = normal(random);
    run.model = normal(random);
  }
  return all;
}

TEST(AuditJudge, BoundsOfTwoDatasetsAreRarelyWrong) {
  constexpr double epsilon = 1, delta = 0.02, error = 0.2;
  constexpr int audits = 100;
  Random random(1);
  int wrong = 0;
  double mean = 0;
  for (int audit = 0; audit < audits; ++audit) {
    const auto of = [&](bool bit) {
      return runs_of(400, random, [&] { return randomized_response(bit, epsilon, delta, random); });
    };
    const Proof proof = prove(of(false), of(true), delta, error);
    wrong += proof.epsilon > epsilon, mean += proof.epsilon / audits;
  }
  EXPECT_LE(wrong, audits * error);
  EXPECT_GT(mean, 0.7);
}

TEST(AuditJudge, AttackersAreRarelyBetterThanTheCurve) {
  constexpr double mu = 1, delta = 1e-5, error = 0.2;
  constexpr int audits = 100;
  Random random(2);
  int wrong = 0, above = 0;
  double mean = 0, gap = 0;
  for (int audit = 0; audit < audits; ++audit) {
    const auto of = [&](bool bit) { return runs_of(500, random, [&] { return gaussian(bit, mu, random); }); };
    const Proof proof = prove(of(false), of(true), delta, error);
    wrong += proof.found > gaussian_power(proof.false_alarms, mu);
    above += proof.epsilon > gaussian_epsilon(mu, delta);
    mean += proof.epsilon / audits, gap += (proof.found - proof.false_alarms) / audits;
  }
  EXPECT_LE(wrong, audits * error);
  EXPECT_LE(above, audits * error);
  EXPECT_GT(mean, 0.8);
  EXPECT_GT(gap, 0.25) << "of " << gaussian_power(0.31, mu) - 0.31;
}

// Coins of several runs count like coins of one.
TEST(AuditJudge, BoundsOfManyCanariesAreRarelyWrong) {
  constexpr double epsilon = 1, delta = 1e-4, error = 0.2;
  constexpr int audits = 100;
  constexpr std::size_t coins = 1000;
  Random random(3);
  int wrong = 0;
  double mean = 0, of_gaussian = 0;
  std::vector<double> evidence(coins);
  std::vector<char> second(coins);
  for (int audit = 0; audit < audits; ++audit) {
    for (std::size_t i = 0; i < coins; ++i) second[i] = random() % 2 == 1;
    for (std::size_t i = 0; i < coins; ++i) evidence[i] = randomized_response(second[i], epsilon, delta, random);
    const double bound = prove_by_guessing(evidence, second, delta, error);
    wrong += bound > epsilon, mean += bound / audits;
    for (std::size_t i = 0; i < coins; ++i) evidence[i] = gaussian(second[i], 1, random);
    of_gaussian += prove_by_guessing(evidence, second, delta, error) / audits;
  }
  EXPECT_LE(wrong, audits * error);
  EXPECT_GT(mean, 0.6);
  EXPECT_GT(of_gaussian, 1.2);
}

}  // namespace
}  // namespace dpmpi::statistics_test
