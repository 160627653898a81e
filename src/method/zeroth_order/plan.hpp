#pragma once
// The settings of zo-o2nc and what follows from them and from public facts: how records are probed and clipped, the
// shape of epochs and running sums, and the noise that they need.

#include <cstdint>
#include <string>

#include "core/options.hpp"
#include "method/method.hpp"
#include "method/zeroth_order/options.hpp"
#include "method/zeroth_order/planner.hpp"
#include "objective/values/zeroth_order.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

/// All values are public.
struct ZoDesign {
  ZoProblem problem;
  ZoEstimator estimator;
  ZoShape shape;             ///< T, q, B1, B2, K; K of one pass
  std::uint64_t leaves = 1;  ///< queries of one running sum
  double D = 0;              ///< largest step of the learner
  double C_1 = 0, C_d = 0;   ///< clips of a record's gradient and difference
  RunningSum running = {};   ///< with C_1 / B1 over C_d / B2 as the first clip
  Tree tree = {};            ///< of one running sum, with multiplier 1

  std::uint64_t sums() const { return shape.outer * (shape.inner / shape.restart); }  ///< running sums of a pass
  std::uint64_t steps() const { return leaves * sums(); }                             ///< queries of a pass
  /// The bound of docs/methods/zo-o2nc.md with this noise in a node.
  ZoBound bound(double sigma) const;
};

class ZoDesignOptions {
 public:
  ZoOptions outer;  ///< of the outer loop

  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;

  /// rho of `facts` is used by method.auto alone. Throws ConfigError if the data is too small, or if the options do
  /// not fit the objective or each other.
  ZoDesign design(const PublicFacts& facts) const;
  /// The design behind a query that was made from it.
  ZoDesign design(const Query& query, const Objective& objective) const;
  /// Noise of a node over the sensitivity of a leaf that makes the run (1 / noise_multiplier)-GDP.
  double node_multiplier(const ZoDesign& design) const;

  Probes probes(const Objective& objective) const;
  /// Whether records go the way of Probes::fast.
  bool fast(const Objective& objective) const;
  bool skips_last() const { return skip_last_; }

 private:
  void check_probes(const Objective& objective) const;
  void check_clips(const ZoEstimator& estimator) const;
  ZoEstimator estimator(const Objective& objective) const;
  ZoShape shape(const ZoProblem& problem, const ZoEstimator& estimator) const;
  ZoDesign complete(const ZoProblem& problem, const ZoEstimator& estimator, const ZoShape& shape) const;

  std::int64_t batch_ = 0, first_batch_ = 0, restart_ = 0, count_ = 0, block_ = 32, band_ = 64;
  double slope_clip_ = 0, gradient_clip_ = 0, kappa_ = 0;
  bool auto_ = false, skip_last_ = false, centre_ = false, fast_ = true, adaptive_clip_ = false;
  std::string scheme_ = "haar", strategy_ = "fenwick";
};

}  // namespace dpmpi
