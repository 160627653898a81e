#pragma once
// Masses of normal laws on both sides of a point.

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dpmpi {

/// A law's mass on both sides of a point; the smaller one has full relative precision.
struct Sides {
  double above, below;
};

/// Of the standard normal law around t. The library's erfc is good to a few units in the last place.
inline Sides normal_sides(double t) {
  const double small = std::erfc(std::abs(t) / std::numbers::sqrt2) / 2;
  return t > 0 ? Sides{small, 1 - small} : Sides{1 - small, small};
}
/// Bound on the relative error of the smaller one: 2^-51 in t, which |t| phi(t) <= (1 + t^2) Phi(-t) turns into one
/// of the tail, and erfc's. Far beyond 40 tails are 0, and t^2 might overflow.
inline double normal_error(double t) {
  const double seen = std::min(std::abs(t), 1e6);
  return 0x1p-51 * (16 + 2 * seen * seen);
}

}  // namespace dpmpi
