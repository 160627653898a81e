#pragma once
// Losses, gradients and differences of gradients are right.

#include "objective/property_case.hpp"

namespace dpmpi::test {

/// Losses and gradients against the double reference.
inline void check_reference(const PropertyCase& c) {
  const std::vector<double> w = widened(c.w);
  std::vector<double> expected(w.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(c.records.count, 24); ++i) {
    if (std::isnan(c.records.label[i])) continue;
    const double loss = c.reference.loss(i, w);
    EXPECT_NEAR(loss_of(c.objective, c.w, c.records, i), loss, c.tolerance * std::max(1.0, std::abs(loss)))
        << "record " << i;
    c.reference.gradient(i, w, expected);
    const std::vector<double> g = gradient_of(c.objective, c.w, c.records, i);
    double error = 0;
    for (std::size_t j = 0; j < g.size(); ++j) error = std::max(error, std::abs(g[j] - expected[j]));
    EXPECT_LE(error, c.tolerance * std::max(1.0, norm_of(expected))) << "record " << i;
  }
}

/// loss(w + s) - loss(w - s) = 2 <gradient, s> up to third order, along the gradient, random directions and
/// coordinates.
inline void check_finite_differences(const PropertyCase& c) {
  std::mt19937 bits(3);
  std::normal_distribution<double> normal;
  const std::size_t dim = c.w.size();
  std::size_t checked = 0, tried = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(c.records.count, 8); ++i) {
    if (std::isnan(c.records.label[i])) continue;
    const double here = loss_of(c.objective, c.w, c.records, i);
    const std::vector<double> g = gradient_of(c.objective, c.w, c.records, i);
    for (int probe = 0; probe < 8; ++probe) {
      std::vector<double> s(dim, 0.0);
      if (probe == 0) s = g;
      if (probe == 1 || probe == 2)
        for (double& x : s) x = normal(bits);
      if (probe > 2) s[probe == 3 ? dim - 1 : bits() % dim] = 1;
      if (norm_of(s) == 0) continue;
      const double length = (probe > 2 ? 0.0125 : 0.0125 / std::max(1.0F, c.records.norm[i])) / norm_of(s);
      std::vector<float> up(dim), down(dim);
      double expected = 0;
      for (std::size_t j = 0; j < dim; ++j) {
        up[j] = static_cast<float>(c.w[j] + length * s[j]);
        down[j] = static_cast<float>(c.w[j] - length * s[j]);
        expected += g[j] * (static_cast<double>(up[j]) - down[j]);
      }
      const double above = loss_of(c.objective, up, c.records, i);
      const double below = loss_of(c.objective, down, c.records, i);
      ++tried;
      if (!c.smooth && std::abs(above + below - 2 * here) > 0.02 * std::abs(above - below) + 1e-6)
        continue;  // a kink
      ++checked;
      EXPECT_NEAR(above - below, expected, 2e-6 * std::max(1.0, std::abs(here)) + 4e-3 * std::abs(expected))
          << "record " << i << ", probe " << probe;
    }
  }
  EXPECT_GE(2 * checked, tried) << "too many kinks to have checked anything";
}

/// A point one unit in the last place away: the difference is still accurate, as it would not be if two gradients
/// were subtracted. Compared with the double reference, or with a 2048 times longer step on which nothing cancels.
inline void check_tiny_differences(const PropertyCase& c) {
  if (!c.smooth || !c.differences) return;
  const std::size_t dim = c.w.size();
  const std::vector<float> near = moved_by_ulps(c.w, 1), away = moved_by_ulps(c.w, 2048);
  std::vector<double> at_w(dim), at_v(dim);
  for (std::size_t i = 0; i < std::min<std::size_t>(c.records.count, 12); ++i) {
    if (std::isnan(c.records.label[i])) continue;
    std::vector<double> expected = fine_contribution(c.objective, c.differences->at(away, c.w), c.records, i, 1);
    for (double& x : expected) x /= 2048;
    double tolerance = 0.02;
    if (c.reference.gradient) {
      c.reference.gradient(i, widened(near), at_w);
      c.reference.gradient(i, widened(c.w), at_v);
      std::transform(at_w.begin(), at_w.end(), at_v.begin(), expected.begin(), std::minus<>());
      tolerance = 1e-3;
    }
    const double size = norm_of(expected);
    if (size < 1e-12) continue;
    const std::vector<double> d =
        fine_contribution(c.objective, c.differences->at(near, c.w), c.records, i, 4 * size);
    double error = 0;
    for (std::size_t j = 0; j < dim; ++j) error += (d[j] - expected[j]) * (d[j] - expected[j]);
    EXPECT_LE(std::sqrt(error), tolerance * size) << "record " << i;
  }
}

/// The difference of a point with itself is zero, and swapping the points changes the sign only.
inline void check_difference_symmetry(const PropertyCase& c) {
  if (!c.differences) return;
  const L2Bound bound{.clip = 0.5};
  const Lattice lattice = test_lattice(bound.clip);
  const std::vector<float> v = moved(c.w, 0.1);
  EXPECT_TRUE(all_zero(
      contributions(c.objective, c.differences->at(c.w, c.w), c.records, all_rows(c.records), bound, lattice)));
  for (std::size_t i = 0; i < std::min<std::size_t>(c.records.count, 8); ++i) {
    const auto there = contribution(c.objective, c.differences->at(c.w, v), c.records, i, bound, lattice);
    const auto back = contribution(c.objective, c.differences->at(v, c.w), c.records, i, bound, lattice);
    double error = 0, size = 0;
    for (std::size_t j = 0; j < there.size(); ++j) {
      error = std::max(error, std::abs(static_cast<double>(there[j] + back[j])));
      size = std::max(size, std::abs(static_cast<double>(there[j])));
    }
    EXPECT_TRUE(!c.smooth || error <= 2 + c.tolerance * size) << "record " << i << ": " << error << " of " << size;
  }
}

}  // namespace dpmpi::test
