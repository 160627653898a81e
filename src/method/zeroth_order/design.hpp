#pragma once
// The settings of zo-o2nc, and what follows from them and from public facts: how records are probed and clipped,
// the shape of epochs and running sums, and the noise that they need.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "method/correlated_noise.hpp"
#include "method/method.hpp"
#include "method/zeroth_order/planner.hpp"
#include "method/zeroth_order/settings.hpp"
#include "objective/math/directions.hpp"
#include "objective/values/zeroth_order.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

struct ZoO2ncSettings final : MethodSettings {
  ZoSettings outer;  ///< of the outer loop
  std::int64_t batch = 0, first_batch = 0, restart = 0, count = 0, block = 32;
  double slope_clip = 0, gradient_clip = 0, kappa = 0;
  bool automatic = false, skip_last = false, centre = false, fast = true, adaptive_clip = false;
  DirectionScheme scheme = DirectionScheme::haar;
  CorrelatedNoiseSettings noise{.strategy = CorrelatedNoiseSettings::Choice::fenwick};

  void declare(Options& options) override;
  void validate(std::vector<std::string>& problems) const override;
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

/// All values are public.
struct ZoDesign {
  ZoProblem problem;
  Probes probes;
  bool fast = false;  ///< records go the way of Probes::fast
  ZoEstimator estimator;
  ZoShape shape;               ///< T, q, B1, B2, K; K of one pass
  std::uint64_t passes = 1;    ///< over the data
  std::uint64_t leaves = 1;    ///< queries of one running sum
  double D = 0;                ///< largest step of the learner
  double C_1 = 0, C_d = 0;     ///< clips of a record's gradient and difference
  RunningSum running = {};     ///< with C_1 / B1 over C_d / B2 as the first clip
  Tree tree = {};              ///< of one running sum, with multiplier 1
  double node_multiplier = 1;  ///< noise of a node over the sensitivity of a leaf that makes the run 1-GDP

  std::uint64_t sums() const { return shape.outer * (shape.inner / shape.restart); }  ///< running sums of a pass
  std::uint64_t steps() const { return leaves * sums() * passes; }                    ///< queries of the run
  /// The last step of an epoch makes no query.
  bool skips_last() const { return leaves < shape.restart; }
  /// The bound of docs/methods/zo-o2nc.md with this noise in a node.
  ZoBound bound(double sigma) const;
};

/// rho of `facts` is used by method.auto alone. Throws ConfigError if the data is too small, or if the settings do
/// not fit the objective or each other.
ZoDesign design_zo_o2nc(const ZoO2ncSettings& settings, const PublicFacts& facts);

}  // namespace dpmpi
