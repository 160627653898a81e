#pragma once
// Clamped steps along single records of linear models, in double: what methods with un-noised iterates stand on.
//
// For a loss phi(<a, x>, y) a record's step moves x by a multiple c of a. With h phi' (explicit) or its proximal
// coefficient as c, the map x -> x - c a does not lengthen any distance; clamping c to +-cap / |a| keeps that, and
// makes a step no longer than cap. So two runs whose data differ in one record stay within 2 cap of one another,
// for every loss and all data. docs/theory/phases.md has the proof, rounding included. Source: Asi, Liu, Tian,
// "Private Stochastic Convex Optimization with Heavy Tails: Near-Optimality from Simple Reductions", Algorithm 8,
// with the step capped for each record (the source asks for smoothness over all records) and the proximal form
// added.
//
// Which records count depends on records alone, never on x: a record counts unless its norm is 0 or not finite or
// its label is not finite. A coefficient that overflows is clamped like any other.

#include <memory>
#include <span>

#include "objective/kernel.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

enum class StepMode {
  explicit_,  ///< c = min(h, 1 / (beta |a|^2)) phi'(<a, x>), beta = sup |phi''|: needs a finite beta
  proximal    ///< c = h phi'(<a, x> - c |a|^2)
};

struct StepRule {
  StepMode mode = StepMode::proximal;
  double step = 1;  ///< h > 0, at most 1e100
};

/// Whether the loss is convex and a function of <a, x> and the label alone, by its code.
bool has_scalar_link(const Objective& objective);
/// Whether steps of this mode are contractions for it.
bool has_steps(const Objective& objective, StepMode mode);

class RowSweeps;

class ClampedSteps {
 public:
  /// Throws ConfigError unless has_scalar_link(objective), which must outlive this.
  explicit ClampedSteps(const Objective& objective);
  ~ClampedSteps();

  /// The sum of c a over the rows, each on the lattice by itself, for steps from x (dim() entries, of size <=
  /// 1e150; copied). The kernel's bound is the cap: bound.clip = h C. One kernel at a time: the next call replaces
  /// it. Throws ConfigError where has_steps is false. Local; allocates only at the first call.
  Kernel steps(std::span<const double> x, const StepRule& rule);

  /// x -= c a for one row, the same bits as x - (sum of steps() over this row): the sum's exact value is
  /// subtracted in double. Local; allocates nothing.
  void walk(const Rows& row, const StepRule& rule, const L2Bound& bound, const Lattice& lattice,
            std::span<double> x) const;

  /// The contribution of one record to steps() and walk() is within this of the exact clamped coefficient times the
  /// exact record, in L2, for |x| <= radius and bound.clip = cap.
  double error(const StepRule& rule, double radius, double cap, const Lattice& lattice) const;

 private:
  struct Coefficients;
  void check(const StepRule& rule) const;
  void add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum);

  const Objective& objective_;
  const ScalarLoss& phi_;
  std::unique_ptr<RowSweeps> sweeps_;
  StepRule rule_;
  AlignedVector<std::int64_t> tile_sum_;  // for int32 accumulators
};

}  // namespace dpmpi
