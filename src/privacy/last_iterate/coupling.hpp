#pragma once
// The pieces of the coupling bound for runs whose iterates stay hidden: how fast two runs with the same frames come
// together, and what it costs to close the gap that is left. docs/theory/last_iterate.md, has the proofs.

#include <cstdint>

namespace dpmpi {

/// log E exp(x B) for B ~ Beta(a, b - a), the logarithm of Kummer's 1F1(a; b; x); 0 < a <= b. Rounded up.
double log_beta_moment(double a, double b, double x);

/// What two runs with the same frame do to their distance in one step: it is multiplied by at most
/// zeta sqrt(1 - ups + c^2 gam), where ups and gam have the law Beta(K/2, (d-K)/2), in any dependence, given the
/// past.
struct StepMap {
  double contraction = 1;  ///< c
  double retention = 1;    ///< zeta
  double directions = 1;   ///< K
  double dimension = 1;    ///< d
};

/// With probability 1 - failure the product of the first j factors is at most exp(log_excess + j log_rate), for all
/// j at once.
struct Growth {
  double log_rate = 0;    ///< log c1
  double log_excess = 0;  ///< log Wfac
};
/// By Hoelder's inequality, a supermartingale and Ville's inequality; any theta > 0, any number of steps.
Growth chain_growth(const StepMap& map, double theta, double failure);
/// Its exponent: theta times the logarithm of a squared factor over zeta^2 has cumulant generating function <= Lam.
double chain_exponent(const StepMap& map, double theta);
/// By quantiles of the Beta law and a union over the steps.
Growth beta_growth(const StepMap& map, std::uint64_t steps, double failure);
/// By Bernstein's inequality and a union, as in the paper. Throws PrivacyError unless d >= 2K.
Growth bernstein_growth(const StepMap& map, std::uint64_t steps, double failure);
/// Its relative deviation e of the two Beta variables from K/d.
double bernstein_deviation(const StepMap& map, std::uint64_t steps, double failure);

/// The least sum of a_j^2 over a_j >= error with sum_{j=0}^{steps-1} e^{-(j+1) log_rate} (a_j - error) >= gap:
/// closes `gap` at the least cost (water filling). 0 for gap <= 0.
double allocation(double gap, double log_rate, double error, std::uint64_t steps);

}  // namespace dpmpi
