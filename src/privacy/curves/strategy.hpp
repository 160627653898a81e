#pragma once
// Tree and matrix mechanisms: which noised queries a leaf is part of, and what that costs. A strategy is a lower
// triangular matrix S; the mechanism releases S M + noise for the adaptively chosen leaf values M. A record that is
// part of one leaf i shifts the releases by the column S e_i, and lower triangularity lets the leaves depend on
// earlier releases.

#include <cstdint>
#include <vector>

#include "privacy/events/event.hpp"

namespace dpmpi {

/// max over leaves i of (r_i |S e_i|)^2, r_1 = first_leaf and r_i = 1 otherwise: the squared L2 sensitivity of all
/// releases of one run, in units of a leaf's. Exact for whole-numbered matrices, else within a relative 2^-39,
/// rounded up. With several participations: the largest |sum_i S e_i|^2 over leaves at least `separation` apart.
double squared_sensitivity(const Tree& tree);

/// One run of the tree is exactly mu-GDP with mu = sqrt(squared_sensitivity) / noise_multiplier.
double tree_mu(const Tree& tree);

/// c_0 = 1, c_1, ..., c_(band - 1) of a banded strategy, whose row t is sum_j c_j M_(t-j). Local.
std::vector<double> banded_coefficients(const Tree& tree);

/// Variance per coordinate of the noise in the estimate of the prefix sum M_1 + ... + M_t, in units of the variance
/// of a node's noise; t in 1..leaves. The estimate adds nodes (fenwick, full), weighs them (full_honaker), or is
/// row t of L S^-1, with L the lower triangle of ones (the others; infinite where the first t rows are singular).
/// Accurate to 1e-11. Cheap, except for explicit matrices, t^2, and for bands, 24 band^2 operations, or t of
/// banded_blt.
double prefix_noise_variance(const Tree& tree, std::uint64_t t);
/// Its mean over t = 1..leaves.
double mean_prefix_noise_variance(const Tree& tree);

}  // namespace dpmpi
