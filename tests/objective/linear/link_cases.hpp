#pragma once
// What the tests of clamped steps have in common: the losses with their slopes in long double, and random numbers.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/numbers/lattice.hpp"
#include "objective/math/losses.hpp"
#include "objective/math/weighted_loss.hpp"

namespace dpmpi::test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
using Real = long double;

/// phi' from below and from above, in long double.
struct LinkCase {
  std::string name;
  std::function<std::unique_ptr<ScalarLoss>()> make;
  std::function<Real(Real m, Real y)> below, above;
  LabelKind labels;
  double curvature, slope_bound;
};

inline Real sigmoid(Real z) { return z > 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z)); }

inline const std::vector<LinkCase>& links() {
  const auto smooth = [](auto slope) { return std::function<Real(Real, Real)>(slope); };
  const auto residual = smooth([](Real m, Real y) { return m - y; });
  const auto huber = smooth([](Real m, Real y) { return std::clamp<Real>(m - y, -0.5L, 0.5L); });
  const auto logistic = smooth([](Real m, Real y) { return -y * sigmoid(-y * m); });
  const auto hinged = smooth([](Real m, Real y) { return -y * std::clamp<Real>(1 - y * m, 0, 1); });
  const auto poisson = smooth([](Real m, Real y) { return std::exp(m) - y; });
  const auto weighted = [](const auto& slope) {
    return std::function<Real(Real, Real)>([slope](Real m, Real y) { return (y > 0 ? 8 : 0.5L) * slope(m, y); });
  };
  // Either side of a kink at `at`, where the slope jumps from `low` to `high`.
  const auto jump = [](Real t, Real low, Real high, bool above) {
    return t < 0 || (t == 0 && !above) ? low : high;
  };
  static const std::vector<LinkCase> all = {
      {"squared", squared_loss, residual, residual, LabelKind::real, 1, infinity},
      {"huber", [] { return huber_loss(0.5); }, huber, huber, LabelKind::real, 1, 0.5},
      {"absolute", absolute_loss, [=](Real m, Real y) { return jump(m - y, -1, 1, false); },
       [=](Real m, Real y) { return jump(m - y, -1, 1, true); }, LabelKind::real, infinity, 1},
      {"pinball", [] { return pinball_loss(0.875); },
       [=](Real m, Real y) { return jump(m - y, -0.875L, 0.125L, false); },
       [=](Real m, Real y) { return jump(m - y, -0.875L, 0.125L, true); }, LabelKind::real, infinity, 0.875},
      {"logistic", logistic_loss, logistic, logistic, LabelKind::sign, 0.25, 1},
      {"smoothed_hinge", smoothed_hinge_loss, hinged, hinged, LabelKind::sign, 1, 1},
      {"hinge", hinge_loss,
       [=](Real m, Real y) { return y > 0 ? jump(m - 1, -1, 0, false) : jump(m + 1, 0, 1, false); },
       [=](Real m, Real y) { return y > 0 ? jump(m - 1, -1, 0, true) : jump(m + 1, 0, 1, true); }, LabelKind::sign,
       infinity, 1},
      {"weighted_logistic", [] { return weighted_loss(logistic_loss(), 0.5, 8); }, weighted(logistic),
       weighted(logistic), LabelKind::sign, std::nextafter(0.25 * 8, infinity), std::nextafter(8, infinity)},
      {"weighted_smoothed_hinge", [] { return weighted_loss(smoothed_hinge_loss(), 0.5, 8); }, weighted(hinged),
       weighted(hinged), LabelKind::sign, std::nextafter(8, infinity), std::nextafter(8, infinity)},
      {"poisson", poisson_loss, poisson, poisson, LabelKind::real, infinity, infinity},
  };
  return all;
}

inline double random_label(const LinkCase& link, std::mt19937_64& bits) {
  if (link.labels == LabelKind::sign) return bits() % 2 == 0 ? -1 : 1;
  if (link.name == "poisson") return static_cast<double>(bits() % 9);
  return std::normal_distribution<double>(0, 3)(bits);
}

/// 10^U(low, high).
inline double decades(double low, double high, std::mt19937_64& bits) {
  return std::pow(10.0, std::uniform_real_distribution<double>(low, high)(bits));
}

inline double proximal(const ScalarLoss& phi, double m, double w, double y, double h, double limit) {
  double margin[tile_rows], weight[tile_rows], label[tile_rows], most[tile_rows], c[tile_rows];
  std::fill_n(margin, tile_rows, m);
  std::fill_n(weight, tile_rows, w);
  std::fill_n(label, tile_rows, y);
  std::fill_n(most, tile_rows, limit);
  phi.proximal(margin, weight, label, h, most, c);
  EXPECT_TRUE(std::all_of(c, c + tile_rows, [&](double v) { return v == c[0]; }));
  return c[0];
}

/// A lattice of so many bits below the cap.
inline Lattice lattice_of(double cap, int bits = 40) { return Lattice{bits - std::ilogb(cap)}; }

}  // namespace dpmpi::test
