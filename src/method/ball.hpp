#pragma once
// Euclidean balls: projections, in place, without allocation. Local. Exact up to rounding, and nonexpansive.

#include <span>

namespace dpmpi {

struct Ball {
  std::span<const double> centre;  ///< empty: the origin
  double radius = 1;
};

void project(const Ball& ball, std::span<double> x);
/// Onto the points that both balls hold. Throws ConfigError if there are none.
void project(const Ball& first, const Ball& second, std::span<double> x);

}  // namespace dpmpi
