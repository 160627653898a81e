#pragma once
// How well integers fit the discrete Gaussian: Pearson's test against its exact masses.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <boost/math/distributions/chi_squared.hpp>

namespace dpmpi::test {

inline double chi_square_tail(double statistic, std::size_t cells) {
  const boost::math::chi_squared law(static_cast<double>(cells - 1));
  return boost::math::cdf(boost::math::complement(law, statistic));
}

// Probability of a chi-square statistic at least as large, if the values came from N_Z(0, sigma^2). Cells: runs of
// `width` integers; those that expect fewer than 20 values are joined with the rest of their tail.
inline double fit_discrete_gaussian(const std::vector<std::int64_t>& values, double sigma, std::int64_t width = 1) {
  const auto reach = static_cast<std::int64_t>(10 * sigma) + 10;
  std::vector<double> mass(static_cast<std::size_t>(2 * reach + 1));
  double total = 0;
  for (std::int64_t y = -reach; y <= reach; ++y) {
    const double x = static_cast<double>(y) / sigma;
    total += mass[static_cast<std::size_t>(y + reach)] = std::exp(-x * x / 2);
  }
  std::vector<double> seen(mass.size());
  for (const auto y : values) ++seen[static_cast<std::size_t>(std::clamp(y, -reach, reach) + reach)];
  struct Cell {
    double expected = 0, seen = 0;
  };
  std::vector<Cell> cells(1);
  const double per_mass = static_cast<double>(values.size()) / total;
  double left = static_cast<double>(values.size());
  for (std::size_t i = 0; i < mass.size(); ++i) {
    cells.back().expected += per_mass * mass[i], cells.back().seen += seen[i], left -= per_mass * mass[i];
    const bool full = static_cast<std::int64_t>(i + 1) % width == 0 && cells.back().expected >= 20;
    if (full && left >= 20) cells.emplace_back();
  }
  double statistic = 0;
  for (const auto& c : cells) statistic += (c.seen - c.expected) * (c.seen - c.expected) / c.expected;
  return chi_square_tail(statistic, cells.size());
}

}  // namespace dpmpi::test
