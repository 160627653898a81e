#include <algorithm>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>
#include <boost/math/special_functions/beta.hpp>

#include "core/errors.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/last_iterate/bounds.hpp"
#include "privacy/last_iterate/case.hpp"
#include "support/close.hpp"

namespace dpmpi::clip_test {
namespace {

using test::expect_close;

constexpr double error = 1e-8 / 2;  // M xi / 2

/// P(|q_k| > clip for some record, direction and step) for both coupled runs.
double clip_failure(double clip, bool joint, double lipschitz, double each, double directions, double dimension,
                    double evaluations) {
  const double together = joint ? directions : 1, uses = 2 * evaluations * directions / together;
  const double reach = (clip - std::sqrt(together) * each) / lipschitz;
  if (reach >= 1) return 0;
  if (reach <= 0) return 1;
  const double tail = boost::math::ibetac(together / 2, (dimension - together) / 2, reach * reach);
  return std::min(1.0, uses * tail);
}

TEST(ClipFailure, Tails) {
  expect_close(clip_failure(.2, false, 1, error, 1, 1000, .5), 1.720469521e-10);
  expect_close(clip_failure(.25, true, 1, error, 16, 1000, .5), 1.113729921e-7);
  expect_close(clip_failure(.2, false, 1, error, 16, 1000, 50), 1.720469521e-10 * 1600);  // 2 points, K directions
}

TEST(ClipFailure, Inverse) {
  const double small = 1000.0 * 5000, large = 1e4 * 2e4;
  expect_close(high_probability_clip(1e-6, false, 1, error, 16, 1000, small), 0.2430933665);
  expect_close(high_probability_clip(1e-6, true, 1, error, 16, 1000, small), 0.3061730426);
  expect_close(high_probability_clip(1e-6, false, 1, error, 200, 100000, large), 0.02702711908);
  expect_close(high_probability_clip(1e-6, true, 1, error, 200, 100000, large), 0.06311991799);
  for (const bool joint : {false, true}) {
    const double clip = high_probability_clip(1e-6, joint, 2, error, 16, 1000, small);
    EXPECT_LE(clip_failure(clip, joint, 2, error, 16, 1000, small), 1e-6);
    EXPECT_GE(clip_failure(clip * (1 - 1e-6), joint, 2, error, 16, 1000, small), 0.99e-6);
    EXPECT_LE(high_probability_clip(1e-6, joint, 2, error, 16, 16, small), 2 + 16 * error);
  }
}

// A tighter clip lowers the sensitivity by more than its failures cost.
TEST(ClipFailure, Effect) {
  constexpr double steps = 5e5, chain = 5e-7, delta = 1e-5, left = delta - 1e-6;
  const double evaluations = 1000 * steps;
  const double coordinate = high_probability_clip(chain, false, 1, error, 16, 5000, evaluations);
  const double joint = high_probability_clip(chain, true, 1, error, 16, 5000, evaluations);
  expect_close(coordinate, 0.1189786027);
  expect_close(joint, 0.1474786924);
  HiddenCase setting = G4;
  setting.sigma = 0.05;
  const auto hidden_mu = [&](double norm) {
    setting.norm = norm;
    return hidden_total(setting.run(steps), chain).mu;
  };
  expect_close(hidden_mu(std::sqrt(16.0)), 6.213345);
  expect_close(gdp_epsilon(6.213345, left), 45.18946);
  expect_close(hidden_mu(1 + 4 * error), 3.719703);
  expect_close(gdp_epsilon(3.719703, left), 22.20714);
  expect_close(hidden_mu(std::sqrt(16.0) * coordinate), 3.059946);
  expect_close(gdp_epsilon(3.059946, left), 17.18157);
  setting.norm = joint;
  const double composed = composition_mu(with_all_on_directions(setting).run(steps));
  EXPECT_LT(composed, hidden_mu(joint));
  expect_close(composed, 1.042832);
  expect_close(gdp_epsilon(composed, delta), 4.595293);
}

// Noise rounded to whole numbers plus a Gaussian of deviation tau: the density is that of Gaussian plus uniform
// noise, with a relative ripple of at most 2 exp(-2 pi^2 tau^2 s^2 / (s^2 + tau^2)) (and its harmonics).
TEST(Dither, MakesNoiseOnALatticeContinuous) {
  const auto upper = [](double x) { return std::erfc(x / std::sqrt(2.0)) / 2; };
  const auto density = [](double x, double s) {
    return std::exp(-x * x / (2 * s * s)) / (s * std::sqrt(2 * std::numbers::pi));
  };
  constexpr double s = 6;
  const auto ripple = [&](double tau) {
    const double both = std::hypot(s, tau);
    double most = 0;
    for (double x = 0; x < 4 * s; x += 0.01) {
      double lattice = 0;
      for (int n = static_cast<int>(x) - 40; n <= static_cast<int>(x) + 40; ++n)
        lattice += (upper((n - .5) / s) - upper((n + .5) / s)) * density(x - n, tau);
      most = std::max(most, std::abs(lattice / (upper((x - .5) / both) - upper((x + .5) / both)) - 1));
    }
    return most;
  };
  const auto bound = [](double tau) {
    const double exponent = 2 * std::numbers::pi * std::numbers::pi * tau * tau * s * s / (s * s + tau * tau);
    return 2 * (std::exp(-exponent) + std::exp(-4 * exponent) + std::exp(-9 * exponent));
  };
  EXPECT_GT(ripple(.25), 0.01);  // the lattice shows
  for (const double tau : {.25, .5, .75}) EXPECT_LE(ripple(tau), bound(tau)) << tau;
  EXPECT_LT(ripple(4), 1e-10);  // rounding of this sum
  EXPECT_LT(bound(4), 1e-90);
  EXPECT_EQ(dither_share(1e-9, 1e-3), 4e-6);
  EXPECT_THROW(dither_share(1e-5, 1e-3), PrivacyError);
  EXPECT_THROW(dither_share(1e-5, 0), PrivacyError);
}

}  // namespace
}  // namespace dpmpi::clip_test
