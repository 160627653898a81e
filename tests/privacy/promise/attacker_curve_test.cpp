// The curve of reports: never below the best attack on the Gaussian mechanism, which is known, and close to it.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <boost/math/distributions/normal.hpp>

#include "privacy/promise/attacker_curve.hpp"

namespace dpmpi::attacker_curve_test {
namespace {

TEST(AttackerCurve, BoundsTheBestAttackAtEveryRate) {
  const boost::math::normal law;
  const std::vector<Event> events{{Gaussian{2}, 4}};  // mu = 1
  std::vector<double> rates;
  for (double rate = 1e-5; rate < 1; rate *= 1.1) rates.push_back(rate);
  for (const auto& [accountant, slack] : {std::pair{"gdp", 1e-9}, {"pld", 0.35}, {"rdp", 0.4}}) {
    const Guarantee guarantee = epsilon_guarantee(events, Adjacency::add_remove, 1e-5, accountant);
    const auto found = attacker_curve(events, Adjacency::add_remove, guarantee, rates);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const double best =
          boost::math::cdf(boost::math::complement(law, boost::math::quantile(complement(law, rates[i])) - 1));
      EXPECT_GE(found[i], best * (1 - 1e-12)) << accountant << " " << rates[i];
      EXPECT_LE(found[i], best * (1 + slack) + 1e-6) << accountant << " " << rates[i];
    }
  }
}

// Of two normals one deviation apart, whoever guesses by the nearer one is right in Phi(1/2) of all cases.
TEST(AttackerCurve, BoundsTheShareOfRightGuesses) {
  const double best = boost::math::cdf(boost::math::normal(), 0.5);
  const std::vector<Event> events{{Gaussian{2}, 4}};  // mu = 1
  for (const auto& [accountant, slack] : {std::pair{"gdp", 1e-9}, {"pld", 0.001}, {"rdp", 0.15}}) {
    const Guarantee guarantee = epsilon_guarantee(events, Adjacency::add_remove, 1e-5, accountant);
    const double bound = right_guesses(events, Adjacency::add_remove, guarantee);
    EXPECT_GE(bound, best * (1 - 1e-12)) << accountant;
    EXPECT_LE(bound, best * (1 + slack)) << accountant;
  }
}

TEST(AttackerCurve, GuessesByThePromiseAlone) {
  const Guarantee one{.epsilon = std::log(3), .delta = 0.02, .by = {}};
  EXPECT_NEAR(right_guesses({}, Adjacency::replace_one, one), (3 + 0.02) / 4, 1e-12);
  EXPECT_NEAR(right_guesses({}, Adjacency::replace_one, {.epsilon = 0, .delta = 0.5, .by = {}}), 0.75, 1e-12);
  EXPECT_EQ(right_guesses({}, Adjacency::replace_one, {.epsilon = HUGE_VAL, .delta = 1e-5, .by = {}}), 1);
}

}  // namespace
}  // namespace dpmpi::attacker_curve_test
