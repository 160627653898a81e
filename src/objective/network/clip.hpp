#pragma once
// From the squared norms of a record's layers to the factors that keep its bound.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <span>

#include "objective/objective.hpp"

namespace dpmpi {

/// Squared norms from here on count as non-finite: no product of two smaller ones overflows double, and what their
/// double arithmetic loses to underflow is far below any lattice. False for NaN.
inline bool usable_square(double square) { return square < 0x1p500; }

/// x * factor, and 0 in place of subnormal numbers, whose rounding is not relative to them.
template <std::floating_point T>
T scaled(T x, T factor) {
  const T y = x * factor;
  return std::fabs(y) < std::numeric_limits<T>::min() ? T(0) : y;
}

inline double shrink(double norm, double clip) { return norm > clip ? clip / norm : 1.0; }

/// squares[l], the squared norm of layer l or more, becomes the layer's factor min(1, clip / norm), where the norm
/// is that of all layers (flat), or of the layer with clip / sqrt(layers). False, and nothing else, if one is NaN
/// or infinite.
[[nodiscard]] inline bool squares_to_factors(const L2Bound& bound, std::span<double> squares) {
  double total = 0;
  for (const double square : squares) total += square;
  if (!std::isfinite(total)) return false;
  if (bound.clipping == Clipping::flat) {
    std::fill(squares.begin(), squares.end(), shrink(std::sqrt(total), bound.clip));
    return true;
  }
  const double layer_clip = bound.clip / std::sqrt(static_cast<double>(squares.size()));
  for (double& square : squares) square = shrink(std::sqrt(square), layer_clip);
  return true;
}

}  // namespace dpmpi
