#pragma once
// Renyi divergence between Gaussian mixtures on the line, by a quadrature whose integrand is positive: nothing
// cancels, so the relative error stays near rounding from divergences of 1e-20 to 1e+6, for whole and fractional
// orders alike.

#include <span>
#include <vector>

namespace dpmpi {

/// P = (1-q) N(0, s^2) + q N(1, s^2) against Q = N(0, s^2), or, if `opposite`, Q = (1-q) N(0, s^2) + q N(-1, s^2).
struct SampledGaussianPair {
  double q = 0;  ///< in (0, 1)
  double s = 0;  ///< > 0
  bool opposite = false;
};

/// D_a(P || Q) for each order a > 1. Where the integral would need more than 2^18 points (s below about 0.4 at
/// order 1024, 0.05 at order 64) the upper bound by joint convexity, sampled_bound(), takes its place.
std::vector<double> renyi_divergence(const SampledGaussianPair& pair, std::span<const double> orders);

/// log(1 - q + q e^(w)) without cancellation or overflow.
double log_mixture(double q, double w);

/// Upper bound on the order-a divergence of a mechanism run on a sample that holds the differing record with
/// probability q, from the divergence `full` without sampling: exp((a-1) D_a) is jointly convex.
double sampled_bound(double q, double full, double order);

}  // namespace dpmpi
