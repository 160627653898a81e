#include "objective/math/box_quadratic.hpp"

#include <algorithm>
#include <cmath>

namespace dpmpi {
namespace {

/// The minimum over z_i alone.
double coordinate_minimum(const BoxQuadratic& p, std::size_t i, double z, double slope) {
  const double curvature = p.matrix[i * p.stride + i], centre = z - slope / curvature;
  const double shrunk = std::max(0.0, std::abs(centre) - p.absolute / curvature);
  return std::clamp(std::copysign(shrunk, centre), p.low[i], p.high[i]);
}

}  // namespace

bool minimise(const BoxQuadratic& p, double tolerance, std::size_t most, std::span<double> z,
              std::span<double> slope) {
  std::fill(z.begin(), z.end(), 0.0);
  for (std::size_t i = 0; i < p.count; ++i) slope[i] = -p.linear[i];
  for (std::size_t step = 0; step <= most; ++step) {
    std::size_t best = 0;
    double furthest = 0, move = 0;
    for (std::size_t i = 0; i < p.count; ++i) {
      const double by = coordinate_minimum(p, i, z[i], slope[i]) - z[i];
      const double size = std::abs(by) * p.matrix[i * p.stride + i];
      if (!std::isfinite(size) || !std::isfinite(slope[i])) return false;
      if (size > furthest) best = i, furthest = size, move = by;
    }
    if (!(furthest > tolerance)) return true;
    z[best] += move;
    const double* row = p.matrix + best * p.stride;
    for (std::size_t i = 0; i < p.count; ++i) slope[i] += move * row[i];
  }
  return false;
}

}  // namespace dpmpi
