#pragma once
// Doubles that lie on the safe side of a number that was computed in extended precision.

#include <cmath>
#include <limits>

namespace dpmpi {

inline double round_up(long double x) {
  const auto nearest = static_cast<double>(x);
  return nearest < x ? std::nextafter(nearest, std::numeric_limits<double>::infinity()) : nearest;
}
inline double round_down(long double x) { return -round_up(-x); }

}  // namespace dpmpi
