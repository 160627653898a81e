#pragma once
// Plan of one pass over smooth losses that are no linear models, whose clipped steps are no contractions. Asi, Liu
// and Tian: Algorithms 6 and 7. Algorithm 7 is not private (its tests share one noisy threshold, and the moment at
// which it halts tells); here every test has noise of its own and a guard bounds the gradient of the differing
// record. Proof: docs/privacy.md.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "dpmpi/method/heavy_tail_one_pass.hpp"
#include "dpmpi/objective/record_gradients.hpp"

namespace dpmpi {

/// How a phase splits its budget rho, and what its proof gives away.
struct GuardRule {
  double count_share = 0.05, test_share = 0.25, output_share = 0.70;
  double guard = 0.25;     ///< theta: no step takes a gradient of norm above (1 + theta) C
  double failure = 1e-12;  ///< in total variation, for each of the three idealisations
  double change = 2;       ///< 2 for replace_one, 1 for add_remove

  /// The three, and what ends at 88 scales of the tests' draws: a chance below 2^-127 for each record.
  double total_variation() const { return 3 * failure * (1 + 1e-6); }
  /// The default one for a target, with failures that take at most a hundredth of delta.
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
  /// The largest eta * beta that allowed() accepts; eta = h / batch is the step of a record.
  double most_curvature = 0;

  /// The guard holds except with probability `failure`, and steps without a hit contract: theta C >= R log(n_i / (2
  /// failure)) and batch * eta * beta <= 2.
  bool allowed(double curvature) const;
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

/// What a plan takes from the code of a loss and of its steps.
struct SmoothSteps {
  double beta = 0;         ///< smoothness of every record's loss
  bool contracts = false;  ///< so do steps along clipped gradients, if h beta <= 2
  /// Bounds of rounding, where gradients used have norms up to `most`: of one batch step h, in |x|; of a computed
  /// norm.
  std::function<double(double step, double most, std::uint64_t batch)> step_error = {};
  std::function<double(double most)> norm_error = {};
};

struct SmoothPhase : OnePassPhase {  ///< sensitivity and noise for the plan's mode
  GuardedPhase guard = {};           ///< guarded plans only
  double hits = 0;                   ///< c
  double test_scale = 0;             ///< R
  double slack = 0;                  ///< of what the proof requires; below 1 it fails
  bool guarded() const { return guard.tests > 0; }
};

struct SmoothPlan {
  bool guarded = false;
  double eta = 0, clip = 0;  ///< of phase 1
  double rho = 0;            ///< that a phase spends
  double bound = 0;          ///< of the expected excess risk, for batches of one record and no phase that halts
  std::vector<SmoothPhase> phases = {};
  double slack() const;  ///< the least one
};

/// For points of norm up to `radius`.
SmoothSteps smooth_steps(const RecordGradients& gradients, double radius);

/// Public choices in place of the bound's: 0 for none.
struct SmoothChoices {
  double eta = 0, clip = 0, hits = 0;
};

enum class SmoothMode {
  either,  ///< plain if it may be, else guarded
  plain,   ///< clipped steps without tests: h beta T <= 1 in every phase, or h beta <= 2 where they contract
  guarded  ///< GuardedPhase::slack >= 1 in every phase
};
/// `rho`: the budget of a guarded phase, in place of problem.mu. Throws ConfigError, with the slacks that were
/// found, where the mode's condition fails.
SmoothPlan plan_smooth(const HeavyTailProblem& problem, const OnePassRule& rule, const SmoothSteps& loss,
                       const SmoothChoices& choices, SmoothMode mode, double rho, const GuardRule& guard);

/// One phase's decisions.
struct RecordTest {
  double clip = 1;
  double most = 1;                                           ///< (1 + theta) C: of an executed gradient
  double scale = 0;                                          ///< R
  double halt_at = std::numeric_limits<double>::infinity();  ///< chat

  /// Whether a record whose gradient has this norm counts as clipped; `laplace`: a draw of scale 1 of its own.
  bool hit(double norm, double laplace) const {
    return norm > most || std::min(norm, most) + scale * laplace >= clip;
  }
  /// After so many hits, the present batch's included: its update is not made, nor are later ones.
  bool halted(double hits) const { return hits >= halt_at; }
};

}  // namespace dpmpi
