#pragma once
// The settings of ht-known-lipschitz, the phases of all rounds that follow from them, and what of a phase's
// gradients can be certified.

#include <cstdint>
#include <vector>

#include "method/heavy_tailed/options.hpp"
#include "method/method.hpp"
#include "objective/linear/steps.hpp"

namespace dpmpi {

/// The clip with the smallest sum of noise and bias for losses of linear models, clipped: G_k ((k - 1) kappa_k /
/// (11.32 r))^(1/k).
double envelope_clip(const HeavyTailProblem& problem);
/// max(clip, convexity * reach): a record left out of an m-strongly convex problem has the loss m/2 |x - centre|^2,
/// whose gradient is up to m * reach, reach = max |x - centre| over the domain. A smaller C would void the
/// guarantee.
double raised_clip(double clip, double convexity, double reach);

struct OutputPhase {
  std::uint64_t first = 0, records = 0;
  double lambda = 0;       ///< regulariser around the last phase's point
  double tolerance = 0;    ///< largest |gradient| with which the phase's solver may stop
  double sensitivity = 0;  ///< of its result: change C / (lambda n_i) + 2 tolerance / lambda
  double noise = 0;        ///< deviation per coordinate: sensitivity / mu
};
struct OutputPlan {
  std::vector<OutputPhase> phases;
  double bound = 0;  ///< of the expected excess risk of the last point, for C-Lipschitz losses
};

/// What may differ from the plan with the best bound; none of it touches privacy.
struct OutputShape {
  double certificate = 1e-3;    ///< tolerance in units of C / n_i, at least 0
  double growth = 8;            ///< above 4
  double lambda_scale = 1;      ///< factor on all lambda_i
  bool last_takes_all = false;  ///< the last phase has all records that are left
};

/// Phases of floor(n / 2^i) records with lambda_i = lambda growth^(i - 1) and the best lambda; mu-GDP by parallel
/// composition. Needs 1 <= phases <= log2(n).
OutputPlan plan_output(const HeavyTailProblem& problem, double clip, std::uint64_t phases,
                       const OutputShape& shape = {});

struct HtKnownLipschitzSettings final : MethodSettings {
  HeavyTailOptions moments;
  std::int64_t phases = 2, seed = 1;
  double clip = 0, smoothing = 0.02, strong_convexity = 0;
  OutputShape shape{.last_takes_all = true};

  void declare(Options& options) override;
  void validate(std::vector<std::string>& problems) const override { moments.validate(problems); }
  std::string describe_releases() const override { return "the model and the noised point of every phase"; }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

/// A phase of any round.
struct ClampedPhase : OutputPhase {
  double clip = 1;       ///< C
  double smoothing = 0;  ///< h
  /// |x - x_(i-1)| of a certified point, at most, in a ball of `radius`.
  double reach(double radius, double l2) const;
  /// The error of a computed gradient of F at a point of norm `size`, at most.
  double rounding(const ClampedSteps& steps, double l2, double size) const;
};
struct ClampedSchedule {
  std::vector<ClampedPhase> phases;
  double bound = 0;
};
/// Throws ConfigError, also where rounding forbids a phase's certificate.
ClampedSchedule plan_clamped(const HtKnownLipschitzSettings& settings, const PublicFacts& facts);

}  // namespace dpmpi
