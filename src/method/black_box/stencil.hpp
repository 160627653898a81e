#pragma once
// Design points around theta that tell most of the gradient there: regular simplices in orthogonal subspaces, in
// closed form. For a stationary kernel in coordinates scaled by its length-scales, without other points, a simplex
// of q + 1 vertices at distance R leaves, of the trace of the q dimensions that it spans (in units of s / l^2),
//   q A_q(R),   A_q(R) = p - (1 + 1/q) psi'(R)^2 / (1 + gamma - psi(R sqrt(2 + 2/q))),
// with p = -psi''(0) and gamma = sigma^2 / s, because vectors of vertex values that are orthogonal to 1 are
// eigenvectors of the Gram matrix, and J has no part along 1. Blocks in orthogonal subspaces do not interact.
// q = 1 is a central difference.

#include <cstddef>
#include <vector>

#include "core/eigen.hpp"
#include "method/black_box/covariance.hpp"

namespace dpmpi {

/// Vertices of the regular q-simplex around 0, of length 1: q x (q + 1).
Eigen::MatrixXd unit_simplex(Eigen::Index q);

/// A_q(R) above; stationary kernels.
double simplex_trace(const Covariance& covariance, double gamma, Eigen::Index q, double radius);
/// The R of least A_q in [1e-3, 4].
double best_radius(const Covariance& covariance, double gamma, Eigen::Index q);

/// The sizes q of the blocks that b points make around theta in d dimensions, in the order of the directions that
/// they take: for b <= d + 1 one simplex of b - 1, then pairs and one simplex, for b = 2 d m pairs, each m times.
/// Empty if b is above 2 d and no multiple of it, or 1.
std::vector<Eigen::Index> simple_partition(Eigen::Index d, Eigen::Index b);

/// The partition of least trace into the same number of blocks, the smallest first: pairs, and simplices of sizes
/// that differ by 1 at most, because q A_q is convex from q = 2 on.
std::vector<Eigen::Index> best_partition(const Covariance& covariance, double gamma, Eigen::Index d,
                                         Eigen::Index b);

/// Offsets from theta in scaled coordinates of blocks of these sizes, each with its best radius, along consecutive
/// columns of `directions` (orthonormal, d x d): d x (sum of q + 1). gamma is that of one evaluation; blocks that
/// come `repeats` times in all share it.
Eigen::MatrixXd block_offsets(const Covariance& covariance, double gamma, const std::vector<Eigen::Index>& blocks,
                              const Eigen::MatrixXd& directions, Eigen::Index repeats = 1);

}  // namespace dpmpi
