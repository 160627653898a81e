#pragma once
// The exact gradient of smoothed amplitude phase retrieval, to measure stationarity with.

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <boost/math/special_functions/beta.hpp>

namespace dpmpi::test {

/// F(p) = 1/2 + sign(p)/2 I_{p^2}(1/2, (d + 1)/2): the square of a coordinate of the ball is beta distributed.
inline double ball_coordinate_cdf(double p, std::size_t d) {
  const double square = std::min(p * p, 1.0);
  return 0.5 + std::copysign(0.5, p) * boost::math::ibeta(0.5, (static_cast<double>(d) + 1) / 2, square);
}

/// For f(w) = ||<a, w>| - b| with |a| = 1 and b >= 0 in d dimensions, smoothed over the ball of radius delta, the
/// gradient is c(<a, w>, b) a with
///   c(v, b) = P(|t| > b, t > 0) + P(|t| < b, t < 0) - P(|t| < b, t > 0) - P(|t| > b, t < 0)
///           = 1 - 2 F((b - v) / delta) + 2 F(-v / delta) - 2 F((-b - v) / delta),   t = v + delta p_1,
/// where F is the distribution of the first coordinate p_1 of a uniform point of the unit ball.
inline double smoothed_phase_slope(double v, double b, double delta, std::size_t d) {
  const auto below = [&](double t) { return ball_coordinate_cdf((t - v) / delta, d); };
  return 1 - 2 * below(b) + 2 * below(0) - 2 * below(-b);
}

}  // namespace dpmpi::test
