#pragma once
// The exact gradient of smoothed amplitude phase retrieval, to measure stationarity with.

#include <cstddef>

namespace dpmpi {

/// For f(w) = ||<a, w>| - b| with |a| = 1 and b >= 0 in d dimensions, smoothed over the ball of radius delta, the
/// gradient is c(<a, w>, b) a with
///   c(v, b) = P(|t| > b, t > 0) + P(|t| < b, t < 0) - P(|t| < b, t > 0) - P(|t| > b, t < 0)
///           = 1 - 2 F((b - v) / delta) + 2 F(-v / delta) - 2 F((-b - v) / delta),   t = v + delta p_1,
/// where F is the distribution of the first coordinate p_1 of a uniform point of the unit ball. Throws ConfigError
/// if b < 0, delta <= 0 or d = 0.
double smoothed_phase_slope(double v, double b, double delta, std::size_t d);

}  // namespace dpmpi
