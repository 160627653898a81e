#pragma once
// Plan of all phases of one pass over smooth losses, with or without tests: the schedule of a linear model's pass,
// and whether what privacy rests on holds in every phase.

#include <cstdint>
#include <functional>
#include <vector>

#include "method/heavy_tailed/one_pass_plan.hpp"
#include "method/heavy_tailed/smooth_phase.hpp"
#include "objective/linear/record_gradients.hpp"

namespace dpmpi {

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

}  // namespace dpmpi
