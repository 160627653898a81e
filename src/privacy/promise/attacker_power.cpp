#include "privacy/promise/attacker_power.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <boost/math/special_functions/erf.hpp>

#include "core/errors.hpp"

namespace dpmpi {

namespace {

// Above the rounding errors of the few operations that make a bound.
constexpr double upward = 1 + 0x1p-48;

// Phi(Phi^-1(rate) + mu), with the argument moved up by its own rounding error.
double gaussian_power(double mu, double rate) {
  if (std::isinf(mu)) return 1;
  if (rate == 0) return 0;  // the two laws have the same null sets
  const long double root2 = std::numbers::sqrt2_v<long double>;
  const long double threshold = root2 * boost::math::erfc_inv(2 * static_cast<long double>(rate));
  const long double argument = threshold - mu - (std::abs(threshold) + mu) * 0x1p-58L;
  return std::min(1.0, static_cast<double>(std::erfc(argument / root2) / 2) * upward +
                           std::numeric_limits<double>::denorm_min());
}

// What one point of the curve proves. Both are sums of positive terms; beyond 1 they say nothing.
double power_at(const Accountant& accountant, double epsilon, double rate) {
  const double delta = accountant.delta(epsilon);
  if (!(delta + rate < 1)) return 1;
  const double rejected = delta + std::exp(epsilon) * rate;
  const double accepted = -std::expm1(-epsilon) + std::exp(-epsilon) * (delta + rate);
  return std::min(1.0, std::min(rejected, accepted) * upward);
}

// Golden-section search for the smallest value of f in [low, high], given that of its best point inside.
template <class F>
double golden_section(F f, double low, double high, double best) {
  const double ratio = std::numbers::phi - 1;
  double left = high - ratio * (high - low), right = low + ratio * (high - low);
  double at_left = f(left), at_right = f(right);
  for (int i = 0; i < 26; ++i) {
    best = std::min({best, at_left, at_right});
    if (at_left < at_right) {
      high = right, right = left, at_right = at_left;
      at_left = f(left = high - ratio * (high - low));
    } else {
      low = left, left = right, at_left = at_right;
      at_right = f(right = low + ratio * (high - low));
    }
  }
  return std::min({best, at_left, at_right});
}

// Every point of the curve gives a bound, so the search decides about tightness only. Both bounds have one minimum
// on an exact curve: delta is convex in e^epsilon. Curves of bounds can have several; the grid finds the region.
// epsilon = (e^u - 1)/10^4 spans from 0 to where e^epsilon FPR is 1 and e^-epsilon vanishes beside 1.
double smallest_power(const Accountant& accountant, double rate) {
  constexpr double finest = 1e-4;
  constexpr int intervals = 24;
  const double farthest = std::max(40.0, -std::log(std::max(rate, 1e-300)));
  const double step = std::log1p(farthest / finest) / intervals;
  const auto f = [&](double u) { return power_at(accountant, finest * std::expm1(u), rate); };
  double best = f(0);
  int region = 0;
  for (int i = 1; i <= intervals; ++i)
    if (const double power = f(i * step); power < best) {
      best = power;
      region = i;
    }
  return golden_section(f, std::max(0, region - 1) * step, std::min(intervals, region + 1) * step, best);
}

}  // namespace

double attacker_power(const Accountant& accountant, double false_positive_rate) {
  verify(false_positive_rate >= 0 && false_positive_rate <= 1, "a false positive rate in [0, 1]");
  if (false_positive_rate == 1) return 1;
  if (const auto mu = accountant.gaussian()) return gaussian_power(*mu, false_positive_rate);
  return smallest_power(accountant, false_positive_rate);
}

}  // namespace dpmpi
