#pragma once
// Two-sided Kolmogorov-Smirnov tests.

#include <algorithm>
#include <cmath>
#include <vector>

namespace dpmpi::test {

/// P(sup |B| > t) of the Brownian bridge.
inline double kolmogorov(double t) {
  double sum = 0;
  for (int k = 1; k < 100; ++k) sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * t * t);
  return t < 0.2 ? 1 : std::clamp(sum, 0.0, 1.0);
}

/// p-value of: `values` are draws of N(0, deviation^2).
inline double normal_p_value(std::vector<double> values, double deviation) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double p = 0.5 * std::erfc(-values[i] / deviation / std::sqrt(2.0)), below = static_cast<double>(i) / n;
    distance = std::max({distance, p - below, below + 1 / n - p});
  }
  return kolmogorov(std::sqrt(n) * distance);
}

/// p-value of: both are draws of one continuous law.
inline double same_law_p_value(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  double distance = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    a[i] <= b[j] ? ++i : ++j;
    distance = std::max(distance, std::abs(static_cast<double>(i) / n - static_cast<double>(j) / m));
  }
  return kolmogorov(std::sqrt(n * m / (n + m)) * distance);
}

}  // namespace dpmpi::test
