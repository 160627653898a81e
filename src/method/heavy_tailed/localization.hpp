#pragma once
// From regularised problems to the population risk: phase i solves lambda_i-regularised risk minimisation around
// the point of phase i - 1, on records of its own. Asi, Liu and Tian: Algorithm 2 and Proposition 2, whose bound
// takes lambda_1 = 32 lambda for lambda and drops the factor lambda_(i+1) / lambda_i; here it is corrected.

#include <cstdint>
#include <functional>
#include <vector>

#include "method/heavy_tailed/bounds.hpp"

namespace dpmpi {

// The solver of a phase: clipped gradient descent on a regularised empirical risk F_lambda(x) = mean f(x; s) +
// lambda/2 |x - c|^2: T full-batch steps x <- Proj(prox(x - eta_t (g_t + noise))), eta_t = 4 / (lambda (t + 1)),
// and the average of x_0, ..., x_(T-1) with weights t + 4. Asi, Liu and Tian: Algorithm 1, Proposition 1 and
// Corollary 1. Corrected: the bound holds for every T (theirs needs T >= 39), and Corollary 1's Markov factor 5.

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

// The phases.

/// lambda_i = lambda a^i, and the solver of phase i is within Delta b^i / lambda_i of the phase's minimiser. Needs
/// a > 1, b >= 1. The paper's (a, b) = (32, 4). Best for a given b: a = 2 b^2.
struct LocalizationRule {
  double a = 8, b = 2;
};

/// F(x_I) - min F <= G_1 Delta (b/a)^I / lambda + a Delta^2 / (2 lambda) sum_{i<I} (b^2/a)^i + a lambda D^2 / 2.
double localization_bound(const HeavyTailProblem& problem, const LocalizationRule& rule, double Delta,
                          double lambda, std::uint64_t phases);
/// The lambda for which it is smallest.
double localization_lambda(const HeavyTailProblem& problem, const LocalizationRule& rule, double Delta,
                           std::uint64_t phases);
/// The smallest I with (2b)^I >= sqrt(m), m the records of a fold: Delta >= G_2 / sqrt(m), so later phases cannot
/// help.
std::uint64_t localization_phases(const LocalizationRule& rule, double fold_records);

/// Phases of their own sizes and regularisers.
struct LocalizationPlan {
  std::vector<double> records, lambda;
  double bound = 0;  ///< G_1 r_I / lambda_I + lambda_1 D^2 / 2 + sum_{i>=2} lambda_i r_(i-1)^2 / (2 lambda_(i-1)^2)
};

/// That bound for any choice. `errors`: r_i, the distance to phase i's minimiser in units of 1 / lambda_i.
double localization_bound(const HeavyTailProblem& problem, const std::vector<double>& errors,
                          const std::vector<double>& lambda);

/// `error(m)`: r for a phase (a fold of it) of m records, falling in m, independent of lambda. For every number of
/// phases from `least_phases` to `most_phases` the best lambda_i in closed form; records in proportion to 2^-i,
/// which is best where r is a power of m; the number of phases with the smallest bound.
LocalizationPlan plan_localization(const HeavyTailProblem& problem, std::uint64_t most_phases,
                                   const std::function<double(double records)>& error,
                                   std::uint64_t least_phases = 1);

/// Algorithms 1 to 3 together: every phase solved by clipped descent on each of its folds.
struct LocalizedPhase {
  std::uint64_t first = 0, fold_records = 0;  ///< fold j has the records first + j fold_records, ...
  double lambda = 0;
  ErmPlan solver;  ///< of a fold, over the ball of radius G_2 / lambda around the last point
};
struct LocalizedPlan {
  std::uint64_t folds = 1;
  std::vector<LocalizedPhase> phases;
  double bound = 0;  ///< of the excess risk where a majority of the folds of every phase succeed
};
/// `folds`: J a phase, of which the best is chosen by aggregate(), which makes errors three times as large; a fold
/// succeeds with probability 1 - failures.total(). `steps` as in plan_erm. Folds use disjoint records: the run is
/// mu-GDP. Throws ConfigError if a fold of the first phase has no record.
LocalizedPlan plan_localized_erm(const HeavyTailProblem& problem, std::uint64_t folds, std::uint64_t most_phases,
                                 const ErmFailures& failures = {}, std::uint64_t steps = 0,
                                 std::uint64_t least_phases = 1);

}  // namespace dpmpi
