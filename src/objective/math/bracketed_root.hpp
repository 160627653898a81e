#pragma once
// Roots of increasing functions. Private to the objectives.

#include <algorithm>
#include <cmath>

namespace dpmpi {

/// A function's value at a point and its derivative there.
struct ValueAndSlope {
  double value, slope;
};

/// The root of the increasing function f in [low, high], both of one sign, where f(low) <= 0 <= f(high), enclosed
/// to 2^-50 of its size: Newton's steps while each is at most half as long as the one before and stays inside the
/// bracket, else its middle. A step shorter than the tolerance goes half of it too far, so that the bracket closes
/// from both sides. Starts at low.
template <class Function>
double bracketed_root(double low, double high, const Function& f) {
  double at = low, last_step = high - low;
  for (;;) {
    const double tolerance = 0x1p-50 * std::max(std::abs(low), std::abs(high)) + 1e-300;
    if (high - low <= tolerance) break;
    const ValueAndSlope here = f(at);
    (here.value > 0 ? high : low) = at;
    double step = -here.value / here.slope;
    if (std::abs(step) < tolerance) step += here.value > 0 ? -tolerance / 2 : tolerance / 2;
    double next = at + step;
    if (!(next > low && next < high && std::abs(step) <= last_step / 2)) {
      next = low + (high - low) / 2;
      if (next <= low || next >= high) break;  // neighbours
    }
    last_step = std::abs(next - at);
    at = next;
  }
  return low + (high - low) / 2;
}

}  // namespace dpmpi
