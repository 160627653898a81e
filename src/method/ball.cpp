#include "method/ball.hpp"

#include <cmath>
#include <cstddef>

#include "core/errors.hpp"
#include "method/require.hpp"

namespace dpmpi {

namespace {

double coordinate(const Ball& ball, std::size_t i) { return ball.centre.empty() ? 0 : ball.centre[i]; }

// |from + scale (x - from) - to| for the centres of two balls.
double distance_after_scaling(const Ball& from, const Ball& to, std::span<const double> x, double scale) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double centre = coordinate(from, i), at = centre + scale * (x[i] - centre) - coordinate(to, i);
    sum += at * at;
  }
  return std::sqrt(sum);
}

double distance(const Ball& ball, std::span<const double> x) { return distance_after_scaling(ball, ball, x, 1); }

double scale_onto(const Ball& ball, std::span<const double> x) {
  const double far = distance(ball, x);
  return far > ball.radius ? ball.radius / far : 1;
}

void scale_around(const Ball& ball, std::span<double> x, double scale) {
  if (scale == 1) return;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double centre = coordinate(ball, i);
    x[i] = centre + scale * (x[i] - centre);
  }
}

void check(const Ball& ball, std::span<const double> x) {
  require_positive("radius of a ball", ball.radius);
  verify(ball.centre.empty() || ball.centre.size() == x.size(), "a centre of the point's dimension");
}

// The nearest point of the sphere in which the two spheres meet: the circle of radius `rad` around first + h e, e
// from the first to the second centre.
void onto_both_spheres(const Ball& first, const Ball& second, double apart, std::span<double> x) {
  const double h = (apart * apart + first.radius * first.radius - second.radius * second.radius) / (2 * apart);
  const double rad = std::sqrt(std::fmax(0, first.radius * first.radius - h * h));
  const auto axis = [&](std::size_t i) { return (coordinate(second, i) - coordinate(first, i)) / apart; };
  double along = 0, across = 0;
  for (std::size_t i = 0; i < x.size(); ++i) along += (x[i] - coordinate(first, i)) * axis(i);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double w = x[i] - coordinate(first, i) - along * axis(i);
    across += w * w;
  }
  const double stretch = across > 0 ? rad / std::sqrt(across) : 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double w = x[i] - coordinate(first, i) - along * axis(i);
    x[i] = coordinate(first, i) + h * axis(i) + stretch * w;
  }
}

}  // namespace

void project(const Ball& ball, std::span<double> x) {
  check(ball, x);
  scale_around(ball, x, scale_onto(ball, x));
}

void project(const Ball& first, const Ball& second, std::span<double> x) {
  check(first, x);
  check(second, x);
  double apart = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = coordinate(first, i) - coordinate(second, i);
    apart += difference * difference;
  }
  apart = std::sqrt(apart);
  if (apart > first.radius + second.radius)
    throw ConfigError(fmt::format("two balls of radii {} and {} whose centres are {} apart have no point in common",
                                  first.radius, second.radius, apart));
  if (apart <= std::abs(first.radius - second.radius))
    return project(first.radius < second.radius ? first : second, x);
  const double onto_first = scale_onto(first, x), onto_second = scale_onto(second, x);
  if (distance_after_scaling(first, second, x, onto_first) <= second.radius)
    return scale_around(first, x, onto_first);
  if (distance_after_scaling(second, first, x, onto_second) <= first.radius)
    return scale_around(second, x, onto_second);
  onto_both_spheres(first, second, apart, x);
}

}  // namespace dpmpi
