// How often audits by the one-run game accuse a mechanism that is exactly as leaky as its curve, and how much of
// its leak they find, in a large simulation: audits_bench [AUDITS]. tests/run/audit/by_curve_test.cpp does it with
// few. No more than the level of the audits may be accused. Found: the largest mu that is refuted, over the true
// one.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "privacy/curves/gaussian_curve.hpp"
#include "run/audit/by_curve.hpp"

namespace {

using namespace dpmpi;

struct Game {
  std::size_t runs, canaries;
};

CurveAt gaussian_curve(double mu) {
  return [mu](double odds) { return gdp_delta(mu, std::log(odds)); };
}

double found(const CurveTest& test, const CanaryRuns& runs, double mu, double error) {
  double low = 0, high = 4 * mu;
  for (int i = 0; i < 12; ++i) {
    const double middle = (low + high) / 2;
    (test.refutes(gaussian_curve(middle), runs, error) ? low : high) = middle;
  }
  return low / mu;
}

void simulate(const Game& game, double mu, double error, int audits) {
  constexpr int measured = 200;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  const CurveTest test(game.runs, game.canaries, mu, 1);
  std::vector<double> evidence(game.runs * game.canaries), shares;
  std::vector<char> second(evidence.size());
  int accused = 0;
  for (int audit = 0; audit < audits; ++audit) {
    for (std::size_t i = 0; i < second.size(); ++i) {
      second[i] = random() % 2 == 1;
      evidence[i] = normal(random) + (second[i] ? mu : 0);
    }
    const CanaryRuns runs{game.canaries, evidence, second};
    accused += test.refutes(gaussian_curve(mu), runs, error);
    if (audit < measured) shares.push_back(found(test, runs, mu, error));
  }
  std::sort(shares.begin(), shares.end());
  fmt::print("{:>4} {:>8} {:>5} {:>6} {:>10.4f} {:>8.2f} {:>8.2f} {:>8.2f}\n", game.runs, game.canaries, mu, error,
             static_cast<double>(accused) / audits, shares[shares.size() / 10], shares[shares.size() / 2],
             shares[shares.size() * 9 / 10]);
}

}  // namespace

int main(int count, char** arguments) {
  const int audits = count > 1 ? std::max(1, std::atoi(arguments[1])) : 10000;
  fmt::print("{} audits of Gaussian noise each\nruns canaries    mu  level    accused    found: 10 %, 50 %, 90 %\n",
             audits);
  for (const Game& game : {Game{1, 1000}, {16, 63}, {25, 41}, {50, 41}, {100, 41}})
    for (const double mu : {0.3, 1.0, 2.0})
      for (const double error : {0.00625, 0.025, 0.2}) simulate(game, mu, error, audits);
}
