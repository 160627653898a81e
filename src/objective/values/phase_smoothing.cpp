#include "objective/values/phase_smoothing.hpp"

#include <algorithm>
#include <cmath>

#include <boost/math/special_functions/beta.hpp>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

/// F(p) = 1/2 + sign(p)/2 I_{p^2}(1/2, (d + 1)/2): the square of a coordinate of the ball is beta distributed.
double ball_coordinate_cdf(double p, std::size_t d) {
  const double square = std::min(p * p, 1.0);
  return 0.5 + std::copysign(0.5, p) * boost::math::ibeta(0.5, (static_cast<double>(d) + 1) / 2, square);
}

}  // namespace

double smoothed_phase_slope(double v, double b, double delta, std::size_t d) {
  if (!(b >= 0) || !(delta > 0) || d == 0) throw ConfigError("phase retrieval has b >= 0, delta > 0 and d >= 1");
  const auto below = [&](double t) { return ball_coordinate_cdf((t - v) / delta, d); };
  return 1 - 2 * below(b) + 2 * below(0) - 2 * below(-b);
}

}  // namespace dpmpi
