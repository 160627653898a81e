#pragma once
// Renyi differential privacy of single mechanisms.
//
// A mechanism is (a, eps(a))-RDP if D_a(M(D) || M(D')) <= eps(a) for all neighbours in both directions (Mironov
// 2017). All functions return upper bounds: computed to about 1e-13 and rounded up by a relative 2^-36.
//
// gaussian: a / (2 z^2), with z the noise multiplier (Mironov 2017, Prop. 7).
// poisson_gaussian under add_remove: Mironov, Talwar and Zhang 2019 (arXiv:1908.10530); the direction "remove"
// dominates (their Thm. 5). Under replace_one the pair (1-q) N(0, s^2) + q N(+-1, s^2), s = 2 z, dominates
// (docs/theory/renyi.md).
// wor_gaussian: the divergence of its dominating pair (docs/theory/loss_distributions.md); or Wang, Balle and
// Kasiviswanathan 2019 (arXiv:1808.00087), Thm. 9, between whole orders by convexity of (a - 1) eps(a), which
// wor_discrete_gaussian has alone.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "privacy/events/event.hpp"

namespace dpmpi {

/// rho if the curve of the mechanism is rho a at all orders, also beyond rdp_largest_order: gaussian,
/// discrete_gaussian (Canonne, Kamath and Steinke 2020, Prop. 5), either of them at sampling rate 1, tree, gdp
/// (mu^2 / 2), zcdp.
std::optional<double> zcdp_rho(const Mechanism& mechanism);

/// Curve of one use of a mechanism. Throws PrivacyError if there is no bound for it under this adjacency. That of
/// approx_dp holds with probability 1 - delta only, see RdpAccountant::failure().
std::vector<double> rdp_curve(const Mechanism& mechanism, Adjacency adjacency, std::span<const double> orders);

}  // namespace dpmpi
