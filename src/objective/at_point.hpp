#pragma once
// An objective at a point, as a value. Losses, scores and kernels are asked of it and of nothing else, so that
// nobody can ask for them before the objective has been brought to a point, or after it has left.
//
// An objective has room for what it knows of one point, one pair of points or one list of points. Taking it to the
// next one replaces that, and whoever still uses the old one gets PointReplaced: one comparison a micro-batch.
// Values are as cheap to copy as a pointer and a number; the objective must outlive them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "objective/capabilities.hpp"

namespace dpmpi {

class Objective;

/// Somebody used an objective at a point that it has left, or never was at.
struct PointReplaced : BugError {
  PointReplaced() : BugError("an objective was used at a point that it is not at") {}
};

/// What all of them know: which preparation of which objective they belong to.
class Prepared {
 public:
  Prepared() = default;  ///< of no objective: every use throws PointReplaced

 protected:
  /// Replaces what the objective was prepared for.
  explicit Prepared(Objective& objective);
  /// Throws PointReplaced if the objective was prepared for something else since.
  Objective& prepared() const;

 private:
  friend class Objective;
  Objective* objective_ = nullptr;
  std::uint64_t number_ = 0;
};

/// Losses and scores at a point w.
class ValuesAtPoint : public Prepared {
 public:
  ValuesAtPoint() = default;
  /// out[i] = loss of row i at w (without regularisation), times its weight. Non-finite stays as it is.
  void losses(const Rows& rows, std::span<double> out) const;
  /// The same without weights.
  void unweighted_losses(const Rows& rows, std::span<double> out) const;
  /// Scores (rows x outputs(), row-major) at w: margin, prediction or logits, for evaluation.
  void scores(const Rows& rows, std::span<float> out) const;

 protected:
  using Prepared::Prepared;
};

/// All that an objective can do at a point w that it was given whole. What it does not offer throws NotOffered.
class AtPoint : public ValuesAtPoint {
 public:
  AtPoint() = default;
  /// Adds clip(weight_i grad loss_i(w)) of each row.
  void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) const;
  /// As GradientMeans::add_clipped_means.
  std::span<const std::uint32_t> add_clipped_means(const Persons& persons, const MeanBound& bound,
                                                   LatticeAccumulator& sum) const;
  /// As GradientNorms::gradient_norms.
  void gradient_norms(const Rows& rows, std::span<double> out) const;
  /// As GradientNorms::norms_at_point.
  void norms_at_point(const Rows& rows, std::span<double> out) const;
  /// As SetMeasures::measures.
  std::vector<Measure> measures(const SetTotals& whole, const Shard& shard) const;

 protected:
  using ValuesAtPoint::ValuesAtPoint;

 private:
  friend class Objective;
};

/// A point on its way to an objective that takes it piece by piece (PointInParts).
class PointParts : public Prepared {
 public:
  PointParts() = default;
  /// The next coordinates, in ascending order without gaps.
  void add(std::span<const float> part);
  /// Once all dim() coordinates were told.
  ValuesAtPoint complete() const;

 private:
  friend class Objective;
  using Prepared::Prepared;
  std::size_t told_ = 0;
};

/// Losses at a list of points (LossesAtPoints).
class AtPoints : public Prepared {
 public:
  AtPoints() = default;
  /// out[i] = loss of row i at point number p of the list, times its weight. Non-finite stays as it is. Local.
  void losses(std::size_t p, const Rows& rows, std::span<double> out) const;

 private:
  friend class Objective;
  AtPoints(Objective& objective, LossesAtPoints& own) : Prepared(objective), own_(&own) {}
  LossesAtPoints* own_ = nullptr;
};

/// The pairs of losses of zeroth-order estimators about one or two points (LossPairs).
class AtProbes : public Prepared {
 public:
  AtProbes() = default;
  /// As LossPairs::probe, for one record, times its weight.
  void probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
             std::span<double> down) const;

 private:
  friend class Objective;
  AtProbes(Objective& objective, LossPairs& own) : Prepared(objective), own_(&own) {}
  LossPairs* own_ = nullptr;
};

}  // namespace dpmpi
