#include "privacy/curves/gaussian_curve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>

#include <boost/math/tools/toms748_solve.hpp>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/round_up.hpp"

namespace dpmpi {
namespace {

// What Real loses before the final rounding to a double is far below one unit of it.

// Which side of the true value a result must lie on.
enum class Side { above = 1, below = -1 };

// The double exponential rule for half lines (Takahasi and Mori 1974): s = exp(u - exp(-u)), trapezoids in u. For
// positive analytic integrands that fall like exp(-s) it is exact to rounding at this step, and no digits cancel.
struct Node {
  Real s, weight;
};
constexpr int half_of_nodes = 64;
const std::array<Node, 2 * half_of_nodes + 1>& half_line() {
  static const auto nodes = [] {
    constexpr Real step = 1.0L / 16;
    std::array<Node, 2 * half_of_nodes + 1> list;
    for (int i = -half_of_nodes; i <= half_of_nodes; ++i) {
      const Real u = step * static_cast<Real>(i), inverse = std::exp(-u), s = std::exp(u - inverse);
      list[static_cast<std::size_t>(i + half_of_nodes)] = {s, step * s * (1 + inverse)};
    }
    return list;
  }();
  return nodes;
}

// Integral over s > 0 of exp(-x s - s^2/2) f(s) for x >= -1 and a bounded f, on the scale of 1/x.
template <class F>
Real laplace_integral(Real x, F f) {
  const Real scale = std::max(x, 1.0L);
  Real sum = 0;
  for (const Node& node : half_line()) {
    const Real s = node.s / scale;
    sum += node.weight * std::exp(-x * s - s * s / 2) * f(s);
  }
  return sum / scale;
}

Real log_density(Real x) { return -x * x / 2 - std::log(2 * std::numbers::pi_v<Real>) / 2; }

// A bound on log gdp_delta(mu, epsilon) for finite mu > 0 and epsilon. The privacy loss of N(mu, 1) against N(0, 1)
// at t + mu is mu (t - x) + epsilon with x = epsilon/mu - mu/2, hence
//   delta = int_{t > x} phi(t) (1 - exp(-mu (t - x))) dt = phi(x) int_{s > 0} exp(-x s - s^2/2) (1 - exp(-mu s))
//   ds.
// For x < -1 this is near 1, and its complement is written with Mills' ratio:
//   delta = 1 - Phi(x) - phi(x) int_{s > 0} exp(-(x + mu) s - s^2/2) ds.
// x is moved by its own rounding error, to the side where delta is larger or smaller; the logarithm by the rest:
// 2^-52, and 2^-62 of its size for the roundings of x^2.
Real log_delta(Real mu, Real epsilon, Side side) {
  const Real sign = static_cast<Real>(side);
  const Real ratio = epsilon / mu, x = ratio - mu / 2 - sign * (ratio + mu / 2) * 0x1p-62L;
  const auto bound = [&](Real log) { return std::min(0.0L, log + sign * (0x1p-52L + std::abs(log) * 0x1p-62L)); };
  if (x >= -1)
    return bound(log_density(x) + std::log(laplace_integral(x, [&](Real s) { return -std::expm1(-mu * s); })));
  const Real mills = laplace_integral(x + mu, [](Real) { return 1.0L; });
  return bound(std::log1p(-std::erfc(-x / std::numbers::sqrt2_v<Real>) / 2 - std::exp(log_density(x)) * mills));
}

// Where an increasing function changes sign between low and high: an interval of relative width 2^-57 or so.
template <class F>
std::pair<Real, Real> root(F f, Real low, Real high) {
  const Real at_low = f(low), at_high = f(high);
  if (at_low >= 0) return {low, low};
  if (at_high <= 0) return {high, high};
  std::uintmax_t evaluations = 200;
  return boost::math::tools::toms748_solve(f, low, high, at_low, at_high,
                                           boost::math::tools::eps_tolerance<Real>(58), evaluations);
}

// Log of the delta to solve for; the margin makes gdp_delta, rounded to a double, keep to it.
Real target(double delta, Side side) {
  return std::log(static_cast<Real>(delta)) - static_cast<Real>(side) * 0x1p-52L;
}

void check_arguments(double mu, double epsilon) {
  verify(mu >= 0, "mu >= 0");
  verify(epsilon >= 0, "epsilon >= 0");
}
void check_delta(double delta) { verify(delta > 0 && delta < 1, "delta in (0, 1)"); }

double delta_on(Side side, double mu, double epsilon) {
  check_arguments(mu, epsilon);
  if (mu == 0) return 0;
  if (std::isinf(mu)) return 1;
  if (std::isinf(epsilon)) return 0;
  const Real delta = std::exp(log_delta(mu, epsilon, side));
  if (side == Side::below) return round_down(delta);
  return std::max(round_up(delta), std::numeric_limits<double>::denorm_min());  // never 0: no perfect guarantee
}

// delta <= Phi(-x) <= exp(-x^2/2) for x = epsilon/mu - mu/2 >= 0 bounds the root from above.
double epsilon_on(Side side, double mu, double delta) {
  check_arguments(mu, 0);
  check_delta(delta);
  if (mu == 0) return 0;
  if (std::isinf(mu)) return infinity;
  const Real wanted = target(delta, side), m = mu;
  const auto excess = [&](Real epsilon) { return wanted - log_delta(m, epsilon, side); };
  const auto [low, high] = root(excess, 0, m * (std::sqrt(-2 * wanted) + m / 2) * (1 + 0x1p-50L));
  return side == Side::above ? round_up(high) : round_down(low);
}

}  // namespace

double gdp_delta(double mu, double epsilon) { return delta_on(Side::above, mu, epsilon); }
double gdp_epsilon(double mu, double delta) { return epsilon_on(Side::above, mu, delta); }
double least_gdp_delta(double mu, double epsilon) { return delta_on(Side::below, mu, epsilon); }
double least_gdp_epsilon(double mu, double delta) { return epsilon_on(Side::below, mu, delta); }

double gdp_mu(double epsilon, double delta) {
  check_arguments(0, epsilon);
  check_delta(delta);
  if (std::isinf(epsilon)) return infinity;
  const Real wanted = target(delta, Side::above);
  const auto excess = [&](Real log_mu) { return log_delta(std::exp(log_mu), epsilon, Side::above) - wanted; };
  Real low = 0, high = 0;
  for (Real step = 1; excess(low) > 0; step *= 2) high = std::exchange(low, low - step);
  for (Real step = 1; excess(high) < 0; step *= 2) low = std::exchange(high, high + step);
  return round_down(std::exp(root(excess, low, high).first) * (1 - 0x1p-54L));
}

}  // namespace dpmpi
