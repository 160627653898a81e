// Repeat and select: the best of a random number of runs (Papernot and Steinke 2022,
// arXiv:2110.03620). docs/theory/selection.md has the proof of what is computed here.

#include <algorithm>
#include <cmath>

#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/curves/rdp_curves.hpp"
#include "privacy/curves/repetition_law.hpp"

namespace dpmpi {
namespace {

// Divergences do not decrease in their order, so a bound at a higher order is one at lower orders: the smallest
// value of bound(order, divergence of a run) at each order and at those of the default list above it.
template <class Bound>
std::vector<double> least_from_above(const RunBounds& run, Orders orders, Bound&& bound) {
  const std::vector<double>& list = rdp_orders();
  const auto bounds_at = [&](Orders at) {
    std::vector<double> values = run.curve(at);
    for (std::size_t i = 0; i < at.size(); ++i) values[i] = bound(at[i], values[i]);
    return values;
  };
  std::vector<double> listed = bounds_at(list), curve = bounds_at(orders);
  for (std::size_t i = listed.size() - 1; i > 0; --i) listed[i - 1] = std::min(listed[i - 1], listed[i]);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const auto above = std::upper_bound(list.begin(), list.end(), orders[i]) - list.begin();
    if (above < std::ssize(list)) curve[i] = std::min(curve[i], listed[static_cast<std::size_t>(above)]);
    curve[i] = outward(curve[i]);
  }
  return curve;
}

// Of e_a + (1+shape) ((1 - 1/b) e_b + L/b) + log E K / (a-1), L = log(1/gamma), with e_a = rho a, the smallest
// value at orders from a on, and at the order b >= 1 of the other direction.
double linear_negative_binomial(const RepetitionLaw& law, double rho, double order) {
  const double L = -std::log(law.gamma), b = std::max(1.0, std::sqrt(L / rho)),
               log_mean = log_expected_repetitions(law);
  const double a = std::max(order, 1 + std::sqrt(log_mean / rho));
  return rho * a + (1 + law.shape) * (rho * (b - 1) + L / b) + (log_mean > 0 ? log_mean / (a - 1) : 0);
}

// The same where e_a is known order by order. At b = 1 the other direction costs L.
std::vector<double> negative_binomial_curve(const RepetitionLaw& law, const RunBounds& run, Orders orders) {
  const double L = -std::log(law.gamma), log_mean = log_expected_repetitions(law);
  const std::vector<double>& list = rdp_orders();
  const std::vector<double> divergence = run.curve(list);
  double other = L;
  for (std::size_t i = 0; i < list.size(); ++i)
    other = std::min(other, (1 - 1 / list[i]) * divergence[i] + L / list[i]);
  return least_from_above(run, orders,
                          [&](double a, double e) { return e + (1 + law.shape) * other + log_mean / (a - 1); });
}

// exp((a-1) eps(a)) = e^-m + m exp((a-1) (e_a + m delta)), m the mean, where runs are (log(a/(a-1)), delta)-DP.
double poisson_bound(double mean, double delta, double a, double divergence) {
  const double none = -mean, some = std::log(mean) + (a - 1) * (divergence + mean * delta);
  const double rounding = 1e-15 * (1 + std::abs(none) + std::abs(some));  // the two may all but cancel
  return (std::max(none, some) + std::log1p(std::exp(-std::abs(none - some))) + rounding) / (a - 1);
}

}  // namespace

std::vector<double> repeat_and_select_curve(const RepetitionLaw& law, const RunBounds& run, Orders orders) {
  if (law.distribution == Repetitions::poisson)
    return least_from_above(run, orders, [&](double a, double e) {
      return poisson_bound(law.mean, run.delta(std::log1p(1 / (a - 1))), a, e);
    });
  if (!run.rho) return negative_binomial_curve(law, run, orders);
  std::vector<double> curve;
  for (const double a : orders) curve.push_back(outward(linear_negative_binomial(law, *run.rho, a)));
  return curve;
}

}  // namespace dpmpi
