#pragma once
// Plan of clipped gradient descent on a regularised empirical risk F_lambda(x) = mean f(x; s) + lambda/2 |x - c|^2:
// T full-batch steps x <- Proj(prox(x - eta_t (g_t + noise))), eta_t = 4 / (lambda (t + 1)), and the average of
// x_0, ..., x_(T-1) with weights t + 4. Asi, Liu and Tian: Algorithm 1, Proposition 1 and Corollary 1. Corrected:
// the bound holds for every T (theirs needs T >= 39), and Corollary 1's Markov factor 5.

#include <cstdint>

#include "method/heavy_tailed/bounds.hpp"

namespace dpmpi {

struct ErmSettings {
  double clip = 1;
  std::uint64_t steps = 1;
};

/// Deviation of the noise on the mean gradient that makes the steps together mu-GDP: change C sqrt(T) / (m mu).
/// problem.records: m. problem.diameter and the moments are not used.
double erm_noise(const HeavyTailProblem& problem, const ErmSettings& settings);

/// E F_lambda(average) - min F_lambda <= this, where the domain has no point farther than `radius` from the
/// minimiser and the mean clipped gradient is within `bias` of the mean gradient:
///   4 (T + 3 H_T) / (lambda Z) (C^2 + d sigma^2) + bias^2 / lambda + lambda radius^2 (T + 3) / (2 Z), Z = T (T +
///   7) / 2.
double erm_gap(const HeavyTailProblem& problem, const ErmSettings& settings, double lambda, double radius,
               double bias);

/// Shares of probability that the three steps of the analysis may fail with, each by Markov's inequality.
struct ErmFailures {
  double bias = 0.2, optimisation = 0.2, generalisation = 0.05;
  double total() const { return bias + optimisation + generalisation; }
};

struct ErmPlan {
  ErmSettings settings;
  double noise = 0;  ///< deviation, per coordinate of the mean gradient
  double bias = 0;   ///< of the mean clipped gradient, except with probability failures.bias
  double gap = 0;    ///< bound of the expected gap, given that
  double radius =
      0;  ///< distance to the minimiser of the *population* risk, except with probability failures.total()
};

/// The settings with the best bound: T = max(64, m^2 rho / d), or `steps` if that is above 0 (then with the clip
/// that suits them). The domain is a ball of radius G_2 / lambda.
ErmPlan plan_erm(const HeavyTailProblem& problem, double lambda, const ErmFailures& failures = {},
                 std::uint64_t steps = 0);

}  // namespace dpmpi
