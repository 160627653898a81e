#pragma once
// The Euclidean ball around zero.

#include <cmath>
#include <span>

namespace dpmpi {

/// Moves y to the nearest point with norm at most `radius` (to a rounding of each coordinate).
inline void project_to_ball(std::span<float> y, double radius) {
  double square = 0;
  for (const float x : y) square += static_cast<double>(x) * static_cast<double>(x);
  const double norm = std::sqrt(square);
  if (!(norm > radius)) return;
  for (float& x : y) x = static_cast<float>(static_cast<double>(x) * (radius / norm));
}

}  // namespace dpmpi
