#pragma once
// Clipped central differences of every record along the K directions of a frame: K numbers a record, however many
// parameters.
//
//   q_ik = (l_i(w + xi u_k) - l_i(w - xi u_k)) / (2 xi),   contribution of record i: clip((q_i1 .. q_iK))
//
// Linear models need one product P = X [U | w] a step, formed tile by tile of U, and differences that are exact to
// rounding for any xi. Other objectives are evaluated at the 2 K points, one after the other, in as many readings
// of the batch, or in few calls where they take points together. Source: Chien, Chen and Li, "Privacy Amplification
// in Differentially Private Zeroth-Order Optimization with Hidden States" (2025), with the joint clip added.
// Zeroth-order methods with clipped scalars (DPZero, DP-ZO) are the case of other direction laws.

#include <cstddef>
#include <memory>
#include <span>

#include "objective/kernel.hpp"
#include "objective/math/frames.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

/// How records are probed. All values are public.
struct DifferenceRule {
  double radius = 1e-4;  ///< xi
  bool joint = true;     ///< clip q_i in Euclidean norm; else each coordinate, to clip / sqrt(K)
  /// Rx > 0: records count as x min(1, Rx / |x|), |x| with the bias column (linear models only). 0: as they are.
  double feature_bound = 0;
  /// Y > 0: real labels are moved into [-Y, Y] (linear models only). 0: as they are.
  double label_bound = 0;
  /// (l2 / 2) |w|^2 over all parameters inside each record's loss, probed and clipped with it.
  double l2 = 0;
};

class ProjectedDifferences {
 public:
  /// Objective and frames must outlive this; frames.dim() == objective.dim(). Throws ConfigError if a bound is
  /// asked for that cannot be enforced on this objective's records.
  ProjectedDifferences(Objective& objective, Frames& frames, const DifferenceRule& rule);
  ~ProjectedDifferences();

  /// The kernel of the frame that was begun last, at w (dim() numbers, unchanged while the kernel runs). A
  /// contribution has K coordinates and Euclidean norm at most bound.clip (1 + slack().clip), whatever the loss:
  /// replacing one record moves the sum by at most twice that. Records with a difference that is not finite, and
  /// empty slots, contribute zero. After the first step nothing is allocated unless a batch is larger than all
  /// before. Local.
  Kernel kernel(std::span<const double> w);

  /// The differences of one micro-batch before they are clipped (rows x K, row-major): for checks on public
  /// records.
  void unclipped(std::span<const double> w, const Rows& rows, std::span<double> q);

  /// Whether differences come from margins (one product a step) and not from 2 K evaluations.
  static bool linear(const Objective& objective);
  bool linear() const;
  /// What arithmetic adds to the norm of a contribution of `count` differences, relative to the clip.
  static NumericSlack slack(std::size_t count);
  NumericSlack slack() const { return slack(clipped_.size()); }

  /// How a reading forms its contributions. Private to the implementation.
  class Probe;

 private:
  void add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum);

  std::unique_ptr<Probe> probe_;
  AlignedVector<double> clipped_;
  bool joint_;
  std::size_t dim_;
};

}  // namespace dpmpi
