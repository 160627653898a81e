#pragma once
// Plan of one pass over smooth losses that are no linear models, whose clipped steps are no contractions. Asi, Liu
// and Tian: Algorithms 6 and 7. Algorithm 7 is not private (its tests share one noisy threshold, and the moment at
// which it halts tells); here every test has noise of its own and a guard bounds the gradient of the differing
// record. Proof: docs/theory/heavy_tailed_phases.md.

#include <cstdint>

namespace dpmpi {

/// How a phase splits its budget rho, and what its proof gives away.
struct GuardRule {
  double count_share = 0.05, test_share = 0.25, output_share = 0.70;
  double guard = 0.25;     ///< theta: no step takes a gradient of norm above (1 + theta) C
  double failure = 1e-12;  ///< in total variation, for each of the three idealisations
  double change = 2;       ///< 2 for replace_one, 1 for add_remove

  /// The three, and what ends at 88 scales of the tests' draws: a chance below 2^-127 for each record.
  double total_variation() const { return 3 * failure * (1 + 1e-6); }
  /// The default one for a target, with failures that take at most a hundredth of delta, or 1e-19.
  static GuardRule for_target(double epsilon, double delta, double change);
};

/// Numbers of a phase that do not depend on eta, C or the smoothness beta.
struct GuardedPhase {
  double records = 0;
  std::uint64_t batch = 1;
  GuardRule rule;
  double count_noise = 0;       ///< deviation of the noise on the number of hits that halts the phase
  std::uint64_t most_hits = 0;  ///< cap of that number: K
  std::uint64_t tests = 0;      ///< N that are paid for
  double test_epsilon = 0;      ///< of each
  double output_rho = 0;
  /// The largest eta * beta with which the guard holds except with probability `failure`, and steps without a hit
  /// contract: theta C >= R log(n_i / (2 failure)) and batch * eta * beta <= 2. eta = h / batch is the step of a
  /// record.
  double most_curvature = 0;

  /// (change (1 + theta) C eta + rounding) exp(eta beta K): distance of the averages of neighbours. `rounding`: by
  /// how much the arithmetic of all steps may part them.
  double sensitivity(double eta, double clip, double beta, double rounding = 0) const;
  /// Deviation of the noise on the average.
  double noise(double eta, double clip, double beta, double rounding = 0) const;
  /// R, the scale of each test's Laplace noise: that of test_epsilon for norms which differ by beta * sensitivity +
  /// `norm_rounding`, less what the arithmetic of standard_laplace() may tell.
  double test_scale(double eta, double clip, double beta, double rounding = 0, double norm_rounding = 0) const;
  /// Above 1 by as much as eta * beta, or R, could grow: min(theta C / (R log(n_i / (2 failure))), 2 / (batch eta
  /// beta)). Below 1 the proof does not hold.
  double slack(double eta, double clip, double beta, double rounding = 0, double norm_rounding = 0) const;
};
/// `hits`: c, where the phase halts. rho: all of the phase's (and, with disjoint phases, the run's) budget.
GuardedPhase plan_guarded_phase(double records, double hits, double rho, std::uint64_t batch = 1,
                                const GuardRule& rule = {});

/// Hits enough that a phase halts with probability about n^-2: 2 n_i (G_k / ((1 - theta) C))^k + 24 log n.
double enough_hits(double phase_records, double records, double order, double moment, double clip, double guard);

/// delta of a run of `rho` at epsilon: that of rho-zCDP plus what the three idealisations cost.
double guarded_delta(double rho, double epsilon, double failure);
/// The largest rho with guarded_delta <= delta. Throws PrivacyError if the idealisations alone cost delta.
double guarded_rho(double epsilon, double delta, double failure);

/// Without tests: (change C eta + rounding) (1 + h beta)^(T - 1), for plain clipped steps, h = batch eta.
double unguarded_sensitivity(double change, double eta, double clip, double beta, std::uint64_t batch,
                             std::uint64_t steps, double rounding = 0);

}  // namespace dpmpi
