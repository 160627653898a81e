#pragma once
// The exponent of a power law through measurements.

#include <cmath>
#include <cstddef>
#include <vector>

namespace dpmpi::test {

/// Least-squares slope of log y by log x.
inline double log_slope(const std::vector<double>& x, const std::vector<double>& y) {
  double mx = 0, my = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    mx += std::log(x[i]) / static_cast<double>(x.size()), my += std::log(y[i]) / static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    xx += std::pow(std::log(x[i]) - mx, 2), xy += (std::log(x[i]) - mx) * (std::log(y[i]) - my);
  return xy / xx;
}

}  // namespace dpmpi::test
