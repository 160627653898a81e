#include "privacy/curves/rdp_conversion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

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

namespace {

// The smallest bound so far, and the neighbours of its order.
struct Best {
  RdpConversion found;
  double below, above;

  template <class Bound>
  void take(std::span<const double> orders, std::span<const double> curve, Bound bound) {
    for (std::size_t i = 0; i < orders.size(); ++i)
      if (const double value = bound(orders[i], curve[i]); value < found.value) found = {value, orders[i]};
    const auto here = std::ranges::lower_bound(orders, found.order),
               next = std::ranges::upper_bound(orders, found.order);
    if (here != orders.begin()) below = *(here - 1);
    if (next != orders.end()) above = *next;
  }
  // Even in log(a - 1).
  std::vector<double> orders_between(int number) const {
    const double first = std::log(below - 1), last = std::log(above - 1);
    std::vector<double> between;
    for (int k = 1; k <= number; ++k) between.push_back(1 + std::exp(first + (last - first) * k / (number + 1)));
    return between;
  }
};

constexpr int rounds = 3, orders_a_round = 8;

// `start` needs no order. Every order gives a valid bound, so the search decides about tightness only.
template <class Bound>
RdpConversion least_over(std::span<const double> orders, std::span<const double> curve, double start,
                         const CurveAt& at, Bound bound) {
  if (orders.empty()) return {start, 0};
  Best best{{start, orders.back()}, orders.front(), orders.back()};
  best.take(orders, curve, bound);
  for (int round = 0; at && best.found.value < start && round < rounds; ++round) {
    const std::vector<double> between = best.orders_between(orders_a_round);
    best.take(between, at(between), bound);
  }
  return best.found;
}

// An order at which the divergence is 0: the outputs have the same law.
std::optional<double> order_that_tells_nothing(std::span<const double> orders, std::span<const double> curve) {
  const auto none = std::ranges::find(curve, 0.0);
  return none == curve.end() ? std::nullopt : std::optional(orders[static_cast<std::size_t>(none - curve.begin())]);
}

}  // namespace

RdpConversion rdp_to_epsilon(std::span<const double> orders, std::span<const double> curve, double delta,
                             const CurveAt& at) {
  verify(delta > 0 && delta < 1, "delta in (0, 1)");
  if (const auto order = order_that_tells_nothing(orders, curve)) return {0, *order};
  const auto [value, order] = least_over(
      orders, curve, infinity, at, [=](double a, double divergence) { return epsilon_at(a, divergence, delta); });
  return {epsilon_outward(value), order};
}

RdpConversion rdp_to_delta(std::span<const double> orders, std::span<const double> curve, double epsilon,
                           const CurveAt& at) {
  verify(epsilon >= 0, "epsilon >= 0");
  if (const auto order = order_that_tells_nothing(orders, curve)) return {0, *order};
  const auto [value, order] = least_over(
      orders, curve, 0, at, [=](double a, double divergence) { return log_delta_at(a, divergence, epsilon); });
  return {delta_outward(value), order};
}

RdpConversion rdp_to_epsilon(std::span<const double> orders, std::span<const double> curve, double delta) {
  return rdp_to_epsilon(orders, curve, delta, {});
}

RdpConversion rdp_to_delta(std::span<const double> orders, std::span<const double> curve, double epsilon) {
  return rdp_to_delta(orders, curve, epsilon, {});
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
