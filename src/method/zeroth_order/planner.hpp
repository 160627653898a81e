#pragma once
// What zo-o2nc guarantees, and the settings that make the guarantee best. Everything here is a function of public
// numbers: no part of it can be handed a dataset.
//
// Source: Zhang, Tran and Cutkosky, "Private zeroth-order nonsmooth nonconvex optimization" (ICLR 2024), Theorem
// 3.3, with constants counted exactly.

#include <cstdint>
#include <span>

namespace dpmpi {

/// F(x) = E f(x, z) over M records, f(., z) L-Lipschitz, F(x_1) - inf F <= F*; the run is to be rho-GDP.
struct ZoProblem {
  double records = 0;    ///< M
  double dim = 0;        ///< d
  double lipschitz = 1;  ///< L
  double radius = 0.1;   ///< delta, of the smoothing
  double gap = 1;        ///< F*
  double rho = 1;        ///< infinity: without noise
  double change = 2;     ///< nu: 2 for replace_one, 1 for add_remove
};

/// How one record is estimated: bounds with r = |x - y|.
struct ZoEstimator {
  double gradient_variance = 1;    ///< E |GRAD1 - mean|^2 <= this * L^2
  double difference_variance = 1;  ///< E |DIFF1 - mean|^2 <= this * L^2 r^2 / delta^2
  double gradient_clip = 1;        ///< C_1
  double kappa = 1;                ///< C_d = kappa L 2 D / delta

  /// m directions, orthonormal in groups of b, clipped at the largest estimate of an L-Lipschitz loss.
  static ZoEstimator directions(double d, double m, double b, double lipschitz);
};

/// T, q, B1, B2, K: an epoch has T steps, and the running sum starts again every q.
struct ZoShape {
  std::uint64_t inner = 1, restart = 1, first_batch = 1, batch = 1, outer = 1;
  /// Records of an epoch: (T / q) (B1 + B2 (q - 1)).
  std::uint64_t records_per_epoch() const { return inner / restart * (first_batch + batch * (restart - 1)); }
};

/// E dist(0, Goldstein subdifferential of F of radius 2 delta) <= value, for D = delta / T.
struct ZoBound {
  double sigma = 0;  ///< of a node's noise, per coordinate of the mean
  double V = 0;      ///< root mean square error of the estimates
  double N = 0;      ///< root mean square of the prefix noise
  double G = 0;      ///< of the releases: what the step eta = D / (G sqrt(T)) divides by
  double value = 0;
};

struct ZoPlan {
  ZoShape shape;
  ZoBound bound = {};
};

/// The bound for a shape, where the prefixes' noise has `mean_variance` node variances on average.
ZoBound zo_bound(const ZoProblem& problem, const ZoEstimator& estimator, const ZoShape& shape, double sigma,
                 double mean_variance, double step_radius);

/// The node noise of a Fenwick tree that makes the run rho-GDP, exactly.
double zo_sigma(const ZoProblem& problem, const ZoEstimator& estimator, const ZoShape& shape);

/// The smallest B1 with which leaf 1 needs no more noise than the others: (C_1 B2 / C_d) sqrt((h + 1) / h), h the
/// levels of a tree of `leaves`. Rounded up.
std::uint64_t zo_first_batch(const ZoProblem& problem, const ZoEstimator& estimator, std::uint64_t leaves,
                             std::uint64_t batch, double step_radius);

/// The best T = 2^e and B2 among `batches`, with K = floor(M / records of an epoch). Throws ConfigError if no epoch
/// fits the data.
ZoPlan plan_zo(const ZoProblem& problem, const ZoEstimator& estimator, std::span<const std::uint64_t> batches);
}  // namespace dpmpi
