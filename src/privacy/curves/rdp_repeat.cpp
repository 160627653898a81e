// Repeat and select: the best of a random number of runs of one Gaussian mechanism (Papernot and Steinke 2022,
// arXiv:2110.03620). docs/theory/selection.md has the proof of what is computed here.

#include <algorithm>
#include <cmath>

#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/curves/rdp_curves.hpp"
#include "privacy/curves/repetition_law.hpp"

namespace dpmpi {
namespace {

// Divergences do not decrease in their order, so a bound at a higher order is one at lower orders: of
// rho a + (1+eta) (rho (b-1) + L/b) + log E K / (a-1), L = log(1/gamma), the smallest value at orders from a on,
// and at the order b >= 1 of the other direction.
double negative_binomial_rdp(const RepetitionLaw& law, double rho, double order) {
  const double L = -std::log(law.gamma), b = std::max(1.0, std::sqrt(L / rho)),
               log_mean = log_expected_repetitions(law);
  const double a = std::max(order, 1 + std::sqrt(log_mean / rho));
  return rho * a + (1 + law.shape) * (rho * (b - 1) + L / b) + (log_mean > 0 ? log_mean / (a - 1) : 0);
}

// exp((a-1) eps(a)) = e^-m + m exp((a-1) (rho a + m delta)), m the mean, where runs are (log(a/(a-1)), delta)-DP.
double poisson_rdp(double mean, double noise_multiplier, double rho, double a) {
  const double delta = gdp_delta(1 / noise_multiplier, std::log1p(1 / (a - 1)));
  const double none = -mean, some = std::log(mean) + (a - 1) * (rho * a + mean * delta);
  const double rounding = 1e-15 * (1 + std::abs(none) + std::abs(some));  // the two may all but cancel
  return (std::max(none, some) + std::log1p(std::exp(-std::abs(none - some))) + rounding) / (a - 1);
}

// Here the smallest value at higher orders is looked for on the list of default orders.
std::vector<double> poisson_curve(double mean, double noise_multiplier, double rho, Orders orders) {
  std::vector<double> listed;
  for (const double a : rdp_orders()) listed.push_back(poisson_rdp(mean, noise_multiplier, rho, a));
  for (std::size_t i = listed.size() - 1; i > 0; --i) listed[i - 1] = std::min(listed[i - 1], listed[i]);
  std::vector<double> curve;
  for (const double a : orders) {
    const auto above = std::upper_bound(rdp_orders().begin(), rdp_orders().end(), a) - rdp_orders().begin();
    double bound = poisson_rdp(mean, noise_multiplier, rho, a);
    if (above < std::ssize(listed)) bound = std::min(bound, listed[static_cast<std::size_t>(above)]);
    curve.push_back(outward(bound));
  }
  return curve;
}

}  // namespace

std::vector<double> repeat_and_select_curve(const RepeatAndSelect& mechanism, Orders orders) {
  const RepetitionLaw& law = mechanism.law;
  const double z = mechanism.noise_multiplier;
  const double rho = std::max(1 / (2 * z * z), std::numeric_limits<double>::min());
  if (!std::isfinite(rho)) return std::vector<double>(orders.size(), rho);
  if (law.distribution == Repetitions::poisson) return poisson_curve(law.mean, z, rho, orders);
  std::vector<double> curve;
  for (const double a : orders) curve.push_back(outward(negative_binomial_rdp(law, rho, a)));
  return curve;
}

}  // namespace dpmpi
