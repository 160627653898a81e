#include "privacy/curves/rdp_conversion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/math/tools/minima.hpp>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/rdp_curves.hpp"

namespace dpmpi {

const std::vector<double>& rdp_orders() {
  static const std::vector<double> orders = [] {
    std::vector<double> list = {1.01, 1.02, 1.03, 1.05, 1.07, 1.1, 1.15, 1.2,
                                1.25, 1.3,  1.4,  1.5,  1.6,  1.7, 1.8,  1.9};
    for (int a = 2; a <= 256; ++a) list.push_back(a);
    list.insert(list.end(), {320, 384, 448, 512, 640, 768, 1024});
    return list;
  }();
  return orders;
}

namespace {

double epsilon_at(double a, double divergence, double delta) {
  return divergence + std::log1p(-1 / a) - (std::log(delta) + std::log(a)) / (a - 1);
}
double log_delta_at(double a, double divergence, double epsilon) {
  return (a - 1) * (divergence - epsilon + std::log1p(-1 / a)) - std::log(a);
}

double epsilon_outward(double epsilon) { return std::max(0.0, epsilon + 1e-14 + 1e-15 * std::abs(epsilon)); }
double delta_outward(double log_delta) { return std::min(1.0, outward(std::exp(log_delta))); }

// The smallest value of a bound over all orders. Every order gives a bound, so the search needs no guarantee.
template <class Bound>
RdpConversion best_real_order(Bound bound) {
  const auto at = [&](double log_beta) { return bound(1 + std::exp(log_beta)); };
  double best = -14;
  for (double x = best; x <= 40; x += 0.5)
    if (at(x) < at(best)) best = x;
  const auto [x, value] =
      boost::math::tools::brent_find_minima(at, best - 0.5, best + 0.5, std::numeric_limits<double>::digits / 2);
  return value < at(best) ? RdpConversion{value, 1 + std::exp(x)} : RdpConversion{at(best), 1 + std::exp(best)};
}

}  // namespace

RdpConversion rdp_to_epsilon(std::span<const double> orders, std::span<const double> curve, double delta) {
  verify(delta > 0 && delta < 1, "delta in (0, 1)");
  RdpConversion best{infinity, orders.empty() ? 0 : orders.back()};
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const double a = orders[i];
    if (curve[i] == 0) return {0, a};  // a divergence of zero: the outputs have the same law
    const double epsilon = epsilon_at(a, curve[i], delta);
    if (epsilon < best.value) best = {epsilon, a};
  }
  return {epsilon_outward(best.value), best.order};
}

RdpConversion rdp_to_delta(std::span<const double> orders, std::span<const double> curve, double epsilon) {
  verify(epsilon >= 0, "epsilon >= 0");
  RdpConversion best{0, orders.empty() ? 0 : orders.back()};  // of log delta
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const double a = orders[i];
    if (curve[i] == 0) return {0, a};
    const double log_delta = log_delta_at(a, curve[i], epsilon);
    if (log_delta < best.value) best = {log_delta, a};
  }
  return {delta_outward(best.value), best.order};
}

RdpConversion zcdp_to_epsilon(double rho, double delta) {
  verify(rho >= 0 && delta > 0 && delta < 1, "rho >= 0 and delta in (0, 1)");
  if (rho == 0 || !std::isfinite(rho)) return {rho, rdp_largest_order};
  const auto best = best_real_order([&](double a) { return epsilon_at(a, outward(rho * a), delta); });
  return {epsilon_outward(best.value), best.order};
}

RdpConversion zcdp_to_delta(double rho, double epsilon) {
  verify(rho >= 0 && epsilon >= 0, "rho >= 0 and epsilon >= 0");
  if (rho == 0 || !std::isfinite(rho)) return {rho == 0 ? 0.0 : 1.0, rdp_largest_order};
  const auto best = best_real_order([&](double a) { return log_delta_at(a, outward(rho * a), epsilon); });
  return {delta_outward(best.value), best.order};
}

}  // namespace dpmpi
