#include "privacy/last_iterate/coupling.hpp"

#include <algorithm>
#include <cmath>

#include <boost/math/special_functions/beta.hpp>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/round_up.hpp"

namespace dpmpi {

// The series has positive terms for x > 0; Kummer's transformation 1F1(a; b; x) = e^x 1F1(b - a; b; -x) makes it so
// for x < 0. Every term adds at most two roundings of 2^-64 to the sum and a few to its successors. Beyond x =
// 2^18, where the series is long, B in [0, 1] has to do.
double log_beta_moment(double a, double b, double x) {
  verify(a > 0 && a <= b && !std::isnan(x), "0 < a <= b and an argument");
  if (std::abs(x) > 0x1p18) return std::max(x, 0.0);
  const Real p = x < 0 ? b - a : a, q = b, y = std::abs(x);
  Real term = 1, sum = 1, log_scale = 0, k = 0;
  for (;;) {
    const Real ratio = (p + k) / (q + k) * y / (k + 1);
    term *= ratio;
    sum += term;
    k += 1;
    if (sum > 1e250L) {
      term /= sum;
      log_scale += std::log(sum);
      sum = 1;
    }
    if (ratio < 0.5L && term < 1e-21L * sum) break;  // what follows is at most one more term
  }
  const Real log_sum = log_scale + std::log(sum), result = x < 0 ? x + log_sum : log_sum;
  return round_up(result + (8 * k + 64) * 0x1p-63L + std::abs(log_sum) * 0x1p-60L);
}

namespace {

// Factors this small make no difference; the logarithm of 0 would.
double log_of_factor(double factor) { return std::log(std::max(factor, 1e-30)) + 0x1p-50; }

bool all_directions(const StepMap& map) { return map.directions == map.dimension; }
// U U^T = I: the distance shrinks by exactly c zeta.
Growth deterministic(const StepMap& map) { return {log_of_factor(map.contraction * map.retention), 0}; }

}  // namespace

// E exp(theta (-ups + c^2 gam)) <= (E e^{-k theta ups})^{1/k} (E e^{k theta gam})^{c^2/k}, k = 1 + c^2.
double chain_exponent(const StepMap& map, double theta) {
  const double square = map.contraction * map.contraction, k = 1 + square;
  const double a = map.directions / 2, b = map.dimension / 2;
  const double apart = log_beta_moment(a, b, -k * theta);
  return (square == 0 ? apart : apart + square * log_beta_moment(a, b, k * theta)) / k;
}

Growth chain_growth(const StepMap& map, double theta, double failure) {
  verify(theta > 0 && failure > 0 && failure < 1, "theta > 0 and a failure probability in (0, 1)");
  if (all_directions(map)) return deterministic(map);
  const double exponent = chain_exponent(map, theta) / (2 * theta);
  return {log_of_factor(map.retention) + exponent + 0x1p-50 * std::abs(exponent), -std::log(failure) / (2 * theta)};
}

// P(ups <= low) <= p and P(gam >= high) <= p for every step and both laws, p = failure / (2 steps).
Growth beta_growth(const StepMap& map, std::uint64_t steps, double failure) {
  verify(steps >= 1 && failure > 0 && failure < 1, "steps and a failure probability in (0, 1)");
  if (all_directions(map)) return deterministic(map);
  const double a = map.directions / 2, b = (map.dimension - map.directions) / 2;
  const double p = failure / (2 * static_cast<double>(steps));
  double low = boost::math::ibeta_inv(a, b, p), high = boost::math::ibetac_inv(a, b, p);
  // The library's inverse is not rounded; move outwards until its own tails agree with room for their error.
  constexpr double room = 1 - 1e-9;
  while (low > 0 && boost::math::ibeta(a, b, low) > p * room) low *= 1 - 1e-10;
  while (high < 1 && boost::math::ibetac(a, b, high) > p * room) high = std::min(1.0, high * (1 + 1e-10));
  const double square = map.contraction * map.contraction;
  return {log_of_factor(map.retention) + std::log1p(std::max(-1 + 1e-30, square * high - low)) / 2 + 0x1p-50, 0};
}

double bernstein_deviation(const StepMap& map, std::uint64_t steps, double failure) {
  const double K = map.directions, d = map.dimension;
  if (d < 2 * K)
    throw PrivacyError(
        "Bernstein's inequality for the frames needs a dimension of at least twice the number of "
        "directions; the bounds chain and beta do not");
  const double l = std::log(2 * static_cast<double>(steps) / failure), g = 8 * (d - 2 * K) * l;
  return (g + std::sqrt(g * g + 144 * d * K * (d - K) * l)) / (6 * d * K);
}

Growth bernstein_growth(const StepMap& map, std::uint64_t steps, double failure) {
  const double e = bernstein_deviation(map, steps, failure), mean = map.directions / map.dimension;
  const double low = std::max(0.0, 1 - e) * mean, high = std::min(1.0, (1 + e) * mean);
  const double square = map.contraction * map.contraction;
  return {log_of_factor(map.retention) + std::log1p(square * high - low) / 2 + 0x1p-50, 0};
}

namespace {

// Sum of r^i over i < count, with log r = q < 0.
double geometric(double q, double count) { return std::expm1(count * q) / std::expm1(q); }

}  // namespace

// With weights in units of the largest one, 1, r, r^2, ... (backwards in time if the map contracts), the minimum is
// a_i = max(error, level r^i) by the Karush-Kuhn-Tucker conditions.
double allocation(double gap, double log_rate, double error, std::uint64_t steps) {
  verify(steps >= 1 && error >= 0 && std::isfinite(log_rate), "steps, an error and a finite rate");
  const auto n = static_cast<double>(steps);
  if (!(gap > 0)) return 0;
  if (std::isinf(gap)) return infinity;
  if (std::abs(log_rate) * n < 1e-15) return n * (error + gap / n) * (error + gap / n) * (1 + 4e-15);
  const double log_gap = std::log(gap) + (log_rate < 0 ? n * log_rate : log_rate);  // over the largest weight
  const double q = -std::abs(log_rate);
  if (log_gap > 690) return infinity;
  if (log_gap < -690)  // closed by the step of the largest weight alone
    return n * error * error + std::exp(std::max(-745.0, 2 * log_gap)) + 2 * error * std::exp(log_gap);
  const double need = std::exp(log_gap);
  const double level = (need + error * geometric(q, n)) / geometric(2 * q, n);
  if (level * std::exp((n - 1) * q) >= error) return level * (need + error * geometric(q, n));

  const auto above = [&](double x) {  // how many steps lie above the error
    return x <= error ? 0.0 : std::min(n, std::floor(std::log(error / x) / q) + 1);
  };
  const auto closed = [&](double x) {
    const double k = above(x);
    return k == 0 ? 0 : x * geometric(2 * q, k) - error * geometric(q, k);
  };
  double low = error, high = 2 * (error + need);  // the first step alone would do at error + need
  for (int i = 0; i < 100 && high - low > 1e-15 * high; ++i) {
    const double middle = (low + high) / 2;
    (closed(middle) >= need ? high : low) = middle;
  }
  const double k = above(high);
  return high * high * geometric(2 * q, k) + error * error * (n - k);
}

}  // namespace dpmpi
