// Mechanisms of which only a bound on the privacy loss is known: the worst of them has two outcomes.

#include <algorithm>
#include <cmath>

#include "privacy/curves/rdp_curves.hpp"

namespace dpmpi {

namespace {

double log_sinh(double x) { return x + std::log(-std::expm1(-2 * x) / 2); }
double log_cosh(double x) { return x + std::log1p(std::expm1(-2 * x) / 2); }

// log(sinh(x) / x)
double log_sinhc(double x) {
  if (x > 0.5) return log_sinh(x) - std::log(x);
  double term = 1, sum = 0;  // sinh(x)/x - 1
  for (int k = 2; k <= 16; k += 2) sum += term *= x * x / (k * (k + 1));
  return std::log1p(sum);
}

// With kappa = e^-epsilon, likelihood ratios lie in some [kappa x, x]; x^a is convex, so their moment is largest
// when they take the two ends, with mean 1: x^{a-1} ((1 - kappa^a) - x (kappa - kappa^a)) / (1 - kappa). Its
// maximum over x is, with s(y) = log(sinh(y)/y), exp(a s(a epsilon/2) - (a-1) s((a-1) epsilon/2) - s(epsilon/2)).
double bounded_range_rdp(double epsilon, double a) {
  const double high = a * log_sinhc(a * epsilon / 2), low = (a - 1) * log_sinhc((a - 1) * epsilon / 2),
               one = log_sinhc(epsilon / 2);
  const double rounding = 1e-15 * (high + low + one);  // of the difference, which cancels near order 1
  return std::min({epsilon, a * (epsilon * epsilon / 8), (high - low - one + rounding) / (a - 1)});
}

// exp((a-1) eps(a)) = (e^{a eps} + e^{(1-a) eps}) / (1 + e^eps) = 1 + 2 sinh(a eps/2) sinh((a-1) eps/2) /
// cosh(eps/2).
double randomized_response_rdp(double epsilon, double a) {
  if (epsilon == 0) return 0;
  const double log_excess =
      std::log(2.0) + log_sinh(a * epsilon / 2) + log_sinh((a - 1) * epsilon / 2) - log_cosh(epsilon / 2);
  return std::min(epsilon, log1p_exp(log_excess) / (a - 1));
}

}  // namespace

std::vector<double> bounded_range_curve(double epsilon, Orders orders) {
  std::vector<double> curve;
  for (const double a : orders) curve.push_back(outward(bounded_range_rdp(epsilon, a)));
  return curve;
}

std::vector<double> randomized_response_curve(double epsilon, Orders orders) {
  std::vector<double> curve;
  for (const double a : orders) curve.push_back(epsilon == 0 ? 0 : outward(randomized_response_rdp(epsilon, a)));
  return curve;
}

}  // namespace dpmpi
