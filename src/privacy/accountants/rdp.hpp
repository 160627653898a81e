#pragma once
// Renyi differential privacy of single mechanisms.
//
// A mechanism is (a, eps(a))-RDP if D_a(M(D) || M(D')) <= eps(a) for all neighbours in both directions (Mironov
// 2017). All functions return upper bounds: computed to about 1e-13 and rounded up by a relative 2^-36.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "privacy/events/event.hpp"

namespace dpmpi {

/// a / (2 z^2), with z the noise multiplier (Mironov 2017, Prop. 7). order > 1.
double gaussian_rdp(double noise_multiplier, double order);

/// Poisson-subsampled Gaussian (sampling_rate in (0, 1]).
/// add_remove: Mironov, Talwar and Zhang 2019 (arXiv:1908.10530); the direction "remove" dominates (their Thm. 5).
/// replace_one: the pair (1-q) N(0, s^2) + q N(+-1, s^2), s = 2 noise_multiplier, dominates (docs/theory/renyi.md).
double poisson_gaussian_rdp(double sampling_rate, double noise_multiplier, double order, Adjacency adjacency);

/// Fixed-size sample without replacement, replace_one: Wang, Balle and Kasiviswanathan 2019 (arXiv:1808.00087),
/// Thm. 9; between whole orders by convexity of (a - 1) eps(a).
double wor_gaussian_rdp(std::uint64_t population, std::uint64_t batch, double noise_multiplier, double order);

/// rho if the curve of the mechanism is rho a at all orders, also beyond rdp_largest_order: gaussian,
/// discrete_gaussian (Canonne, Kamath and Steinke 2020, Prop. 5), either of them at sampling rate 1, tree, gdp
/// (mu^2 / 2), zcdp.
std::optional<double> zcdp_rho(const Mechanism& mechanism);

/// Curve of one use of a mechanism. Throws PrivacyError if there is no bound for it under this adjacency. That of
/// approx_dp holds with probability 1 - delta only, see RdpAccountant::failure().
std::vector<double> rdp_curve(const Mechanism& mechanism, Adjacency adjacency, std::span<const double> orders);

}  // namespace dpmpi
