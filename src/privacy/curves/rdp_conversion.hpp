#pragma once
// Renyi curves: the orders at which they are known, and the (epsilon, delta) that they give. All are upper bounds.

#include <functional>
#include <span>
#include <vector>

namespace dpmpi {

inline constexpr double rdp_largest_order = 2048;

/// Default orders: fractions below 2, then 2..256, 320, 384, 448, 512, 640, 768, 1024.
const std::vector<double>& rdp_orders();

/// The smallest value over the orders, and the order that attains it.
struct RdpConversion {
  double value;
  double order;
};
/// min_a eps(a) + log(1 - 1/a) - (log delta + log a)/(a - 1), floored at 0 (Canonne, Kamath and Steinke 2020, Prop.
/// 12; Balle et al. 2020, Thm. 21). delta in (0, 1).
RdpConversion rdp_to_epsilon(std::span<const double> orders, std::span<const double> curve, double delta);
/// The same bound solved for delta; at most 1. epsilon >= 0.
RdpConversion rdp_to_delta(std::span<const double> orders, std::span<const double> curve, double epsilon);

/// A curve at any orders in (1, rdp_largest_order], ascending.
using CurveAt = std::function<std::vector<double>(std::span<const double> orders)>;
/// The same two where further orders can be had: in three rounds, eight between the neighbours of the best one so
/// far. `orders` ascend.
RdpConversion rdp_to_epsilon(std::span<const double> orders, std::span<const double> curve, double delta,
                             const CurveAt& at);
RdpConversion rdp_to_delta(std::span<const double> orders, std::span<const double> curve, double epsilon,
                           const CurveAt& at);

/// The same two for the curve rho a, at the best real order.
RdpConversion zcdp_to_epsilon(double rho, double delta);
RdpConversion zcdp_to_delta(double rho, double epsilon);

}  // namespace dpmpi
