// 1,000 audits each of mechanisms that are exactly as leaky as their curve: no more of them than the level are
// accused, by bets and by the recursion. Leakier ones are.
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "privacy/curves/gaussian_curve.hpp"
#include "run/audit/by_curve.hpp"

namespace dpmpi::by_curve_test {
namespace {

using Random = std::mt19937_64;
/// Evidence of one run for its coins.
using Mechanism = std::function<void(std::span<const char> second, std::span<double> evidence, Random& random)>;

struct Game {
  std::size_t runs, canaries;
};
constexpr Game many_runs{25, 41}, one_run{1, 300};

/// How many of so many audits refute the curve, at this level.
int accused(const Game& game, const Mechanism& mechanism, const CurveAt& curve, double expected_mu, double error,
            int audits = 1000) {
  Random random(1);
  const CurveTest test(game.runs, game.canaries, expected_mu, 3);
  std::vector<double> evidence(game.runs * game.canaries);
  std::vector<char> second(evidence.size());
  int count = 0;
  for (int audit = 0; audit < audits; ++audit) {
    for (char& coin : second) coin = random() % 2 == 1;
    for (std::size_t at = 0; at < second.size(); at += game.canaries)
      mechanism(std::span(second).subspan(at, game.canaries), std::span(evidence).subspan(at, game.canaries),
                random);
    count += test.refutes(curve, {game.canaries, evidence, second}, error);
  }
  return count;
}

Mechanism gaussian_sums(double mu) {
  return [mu](auto second, auto evidence, Random& random) {
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < second.size(); ++i) evidence[i] = normal(random) + (second[i] ? mu : 0);
  };
}
CurveAt gaussian_curve(double mu) {
  return [mu](double odds) { return gdp_delta(mu, std::log(odds)); };
}

/// Randomised response; with probability `shown`, of one coin for the whole run, it tells all.
Mechanism response(double epsilon, double shown) {
  return [=](auto second, auto evidence, Random& random) {
    std::uniform_real_distribution<double> uniform;
    const bool shows = uniform(random) < shown;
    for (std::size_t i = 0; i < second.size(); ++i) {
      const bool lies = !shows && uniform(random) < 1 / (1 + std::exp(epsilon));
      evidence[i] = (second[i] != 0) == lies ? -1 : 1;
    }
  };
}
/// 1 - min(odds, e^epsilon) ... of randomised response, besides what is shown.
CurveAt response_curve(double epsilon, double shown) {
  return [=](double odds) {
    const double truth = 1 / (1 + std::exp(-epsilon)), lie = 1 - truth;
    return shown + (1 - shown) * std::max(0.0, truth - odds * lie);
  };
}

TEST(ByCurve, ExactMechanismsAreRarelyAccused) {
  for (const double error : {0.05, 0.2})
    for (const Game& game : {many_runs, one_run}) {
      for (const double mu : {0.3, 1.0, 2.5})
        EXPECT_LE(accused(game, gaussian_sums(mu), gaussian_curve(mu), mu, error), 1000 * error) << mu;
      EXPECT_LE(accused(game, response(1, 0), response_curve(1, 0), 1, error), 1000 * error);
      EXPECT_LE(accused(game, response(0.5, 0.01), response_curve(0.5, 0.01), 1, error), 1000 * error);
    }
}

// Told all in 4 of 100 runs: the guesses of a quarter of the coins can be bought with what is shown of all of them,
// so at a level below 0.16 nothing is refuted. At one above, the runs that tell all are.
TEST(ByCurve, TheRecursionChargesWhatIsShownToAllCoins) {
  const auto at = [](double error) {
    return accused(one_run, response(0, 0.04), response_curve(0, 0.04), 1, error);
  };
  EXPECT_EQ(at(0.15), 0);
  EXPECT_GT(at(0.2), 20);
  EXPECT_LE(at(0.2), 60);
}

TEST(ByCurve, LeakierMechanismsAreAccused) {
  for (const double mu : {0.8, 1.5}) {
    EXPECT_GT(accused(many_runs, gaussian_sums(mu), gaussian_curve(mu / 2), mu, 0.05, 100), 80) << mu;
    EXPECT_GT(accused({100, 41}, gaussian_sums(mu), gaussian_curve(mu * 0.75), mu, 0.05, 50), 40) << mu;
    EXPECT_GT(accused({1, 1000}, gaussian_sums(mu), gaussian_curve(mu / 3), mu, 0.05, 50), 40) << mu;
    EXPECT_GT(accused(many_runs, gaussian_sums(2 * mu), gaussian_curve(mu), mu, 0.05, 100), 80)
        << "a fault that nobody planned for";
  }
}

}  // namespace
}  // namespace dpmpi::by_curve_test
