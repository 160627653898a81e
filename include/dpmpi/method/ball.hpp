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

/// argmin_y <g, y> + lambda/2 |y|^2 + |y - z|^2 / (2 eta) = (z - eta g) / (1 + eta lambda), into z. Over a ball
/// around the origin, or two balls: project the result, for the function is a paraboloid with equal axes.
void prox_step(std::span<double> z, std::span<const double> gradient, double eta, double lambda);

}  // namespace dpmpi
