#pragma once
// Min-max problems: min over x, max over y in Y of the mean of f(x, y; record).
//
// Both blocks live in one parameter vector w = (x, y): the primal x = w[0, primal_dim()), and the dual y behind it.
// As in objective.hpp, nothing here knows about privacy. Kernels bound the part of a gradient that depends on the
// record; what does not (penalties, constants) is given apart, for it is neither clipped nor noised.

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "objective/kernel.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

/// Bounds of one record's contribution (clip(grad_x, primal), weight * clip(grad_y, dual)) to a joint sum. The
/// weight brings the two blocks to the scale of one noise deviation sigma: their noise multipliers are sigma /
/// primal and sigma / (weight dual).
struct SaddleClip {
  double primal = 1, dual = 1, weight = 1;
  double norm() const { return std::hypot(primal, weight * dual); }  ///< of the whole contribution, at most
};

/// Constants of every record's loss, from public facts alone: |grad_x f(x, y) - grad_x f(x', y')| <=
/// l_xx |x - x'| + l_xy |y - y'|.
struct SmoothConstants {
  double l_xx = 0, l_xy = 0;
};

/// Kernels of a primal that touches records, at the point of Objective::prepare().
class PrivatePrimal {
 public:
  // Relative to the bound of the whole contribution.
  virtual NumericSlack primal_gradient_slack() const = 0;
  virtual NumericSlack saddle_gradient_slack() const = 0;
  virtual NumericSlack primal_difference_slack() const = 0;

 protected:
  ~PrivatePrimal() = default;

 private:
  friend class SaddleObjective;
  friend class AtSaddlePoint;
  friend class AtPair;
  /// Adds clip(grad_x f_i(w)) of each row: primal_dim() coordinates.
  virtual void add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) = 0;
  /// Both blocks in one sweep, dim() coordinates: (clip(grad_x, scale * primal), weight * clip(grad_y, scale *
  /// dual)).
  virtual void add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                            LatticeAccumulator& sum) = 0;

  /// As Objective::prepare(), for the two points of add_clipped_primal_differences(); none other follows.
  virtual void prepare_pair(std::span<const float> w, std::span<const float> v) = 0;
  /// Adds clip(grad_x f_i(w) - grad_x f_i(v)) of each row, the same record at both points; the difference itself is
  /// clipped, and safe against cancellation: primal_dim() coordinates.
  virtual void add_clipped_primal_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) = 0;
};

/// The share of positive records, where every record's loss has it as a public constant.
class ClassPrior {
 public:
  virtual void set_prior(double p) = 0;

 protected:
  ~ClassPrior() = default;
};

/// A min-max problem at a point, with the kernels of its blocks. Those of the primal throw NotOffered without one.
class AtSaddlePoint : public AtPoint {
 public:
  AtSaddlePoint() = default;
  /// Adds clip(grad_x f_i(w)) of each row: primal_dim() coordinates.
  void add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) const;
  /// Adds clip(the part of grad_y f_i(w) that depends on the record) of each row: dual_dim() coordinates.
  void add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) const;
  /// Both blocks in one sweep, dim() coordinates: (clip(grad_x, scale * primal), weight * clip(grad_y, scale *
  /// dual)).
  void add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                    LatticeAccumulator& sum) const;

 private:
  friend class SaddleObjective;
  explicit AtSaddlePoint(const AtPoint& at) : AtPoint(at) {}
  SaddleObjective& problem() const;
};

/// The same records at two points w and v.
class AtPair : public Prepared {
 public:
  AtPair() = default;
  /// Adds clip(grad_x f_i(w) - grad_x f_i(v)) of each row; the difference itself is clipped, and safe against
  /// cancellation: primal_dim() coordinates.
  void add_clipped_primal_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) const;

 private:
  friend class SaddleObjective;
  explicit AtPair(SaddleObjective& problem);
};

class SaddleObjective : public Objective, public PointValues {
 public:
  virtual std::size_t primal_dim() const = 0;
  std::size_t dual_dim() const { return dim() - primal_dim(); }
  /// Null: grad_x touches no record (a generator), so steps in x are post-processing of the released y.
  PrivatePrimal* primal() { return capabilities().primal; }
  const PrivatePrimal* primal() const { return mine().primal; }
  /// Null: the loss has no such constant.
  ClassPrior* class_prior() { return capabilities().prior; }
  const ClassPrior* class_prior() const { return mine().prior; }

  virtual NumericSlack dual_gradient_slack() const = 0;

  /// omega, as the config has it: a public constant in (0, 1]; 0: not given.
  double given_mean_weight = 0;
  /// By this the public parts are multiplied, as the parts of records are by their weights: then both keep their
  /// proportion. 1 for records without weights.
  double mean_weight() const { return record_factors.weight ? given_mean_weight : 1; }

  // ---- at a point: as in Objective ----

  AtSaddlePoint at(std::span<const float> w) { return AtSaddlePoint(Objective::at(w)); }
  /// Differences between w and v. Throws NotOffered without primal().
  AtPair at_pair(std::span<const float> w, std::span<const float> v);

  // ---- public parts: no function of any record ----

  /// gradient (dual_dim() values) += the public part of grad_y at w, to be added to the mean over records.
  virtual void add_public_dual(std::span<const float> /*w*/, std::uint64_t /*step*/,
                               std::span<double> /*gradient*/) const {}
  /// gradient (primal_dim() values) += the public part of grad_x at w.
  virtual void add_public_primal(std::span<const float> /*w*/, std::uint64_t /*step*/,
                                 std::span<double> /*gradient*/) const {}
  /// Moves y (dual_dim() values) to the nearest point of Y.
  virtual void project_dual(std::span<float> /*y*/) const {}

  /// The natural clip of the record's part of grad_y: its largest norm where that is bounded.
  virtual std::optional<double> dual_bound() const { return {}; }
  /// mu, if the mean of f is a quadratic -mu/2 |y|^2 + ... in y whatever the data: then the step 1/mu along grad_y
  /// leads to the maximum (the closed form).
  virtual std::optional<double> dual_curvature() const { return {}; }
  virtual std::optional<SmoothConstants> smooth_constants() const { return {}; }

 protected:
  // No gradients of both blocks as one: descent in x and y alike is no method for a saddle.
  Capabilities capabilities() override { return {.values = this, .saddle = this}; }

 private:
  friend class AtSaddlePoint;
  /// As AtSaddlePoint::add_clipped_dual_gradients, at the point of prepare().
  virtual void add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) = 0;
};

/// Kernels as values, as in kernel.hpp: w and v must stay unchanged while the kernel runs, and the objective at
/// them. Local.
inline Kernel clipped_primal_gradients(SaddleObjective& objective, std::span<const float> w) {
  offered(objective.primal());
  return [at = objective.at(w)](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    at.add_clipped_primal_gradients(rows, bound, sum);
  };
}

inline Kernel clipped_dual_gradients(SaddleObjective& objective, std::span<const float> w) {
  return [at = objective.at(w)](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    at.add_clipped_dual_gradients(rows, bound, sum);
  };
}

/// For a query whose bound is clip.norm(); a smaller bound scales both clips.
inline Kernel clipped_saddle_gradients(SaddleObjective& objective, std::span<const float> w,
                                       const SaddleClip& clip) {
  offered(objective.primal());
  return [at = objective.at(w), clip](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    at.add_clipped_saddle_gradients(rows, clip, bound.clip / clip.norm(), sum);
  };
}

inline Kernel clipped_primal_differences(SaddleObjective& objective, std::span<const float> w,
                                         std::span<const float> v) {
  return [at = objective.at_pair(w, v)](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    at.add_clipped_primal_differences(rows, bound, sum);
  };
}

/// The number of records with a label above 0: one coordinate.
inline Kernel positives() {
  return one_hot_counts([](const Rows& rows, std::span<std::size_t> place) {
    for (std::size_t i = 0; i < rows.size(); ++i) place[i] = rows.records.label[rows.index[i]] > 0 ? 0 : 1;
  });
}

/// For methods that follow gradients and only minimise. Throws ConfigError, with the methods to use instead, if the
/// objective has none or is a min-max problem.
void require_gradients(const Objective& objective, const char* method);
/// The same as a problem to be reported with others.
void check_gradients(const Objective& objective, const char* method, std::vector<std::string>& problems);

}  // namespace dpmpi
