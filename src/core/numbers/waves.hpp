#pragma once
// cos and sin with + - * / only: the same bits on every machine.

#include <cmath>

#include "core/numbers/random.hpp"

namespace dpmpi {

/// cos(pi x) for any x.
inline double cos_pi(double x) {
  const double turned = std::abs(x) - 2 * std::floor(std::abs(x) / 2);
  return portable_cos_pi(turned > 1 ? 2 - turned : turned);
}
/// sin(pi x).
inline double sin_pi(double x) { return cos_pi(x - 0.5); }

}  // namespace dpmpi
