#pragma once
// Per-record losses at a few points, as a bounded vector: what searches without gradients sum over records.

#include <cstddef>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "objective/kernel.hpp"

namespace dpmpi {

/// A record's contribution is min(max(loss, 0), C) - C/2 at each of m points: within C sqrt(m) / 2 of zero, so that
/// one record that comes, goes or is replaced moves the sum by C sqrt(m) / 2, or C sqrt(m). A loss that is not
/// finite counts as C: a point where losses overflow must look bad. Records that are not finite contribute zero.
class ClippedLosses {
 public:
  /// `objective` must outlive this. clip: C > 0.
  ClippedLosses(Objective& objective, std::size_t points, double clip);

  /// Row j: where point j is written, dim() entries.
  std::span<float> point(std::size_t j) { return std::span(points_).subspan(j * stride_, objective_.dim()); }
  /// The sum at these points; coordinate j belongs to point j. One reading of the records for each point, so that
  /// each is prepared once, or for as many as the objective takes together. Local.
  Kernel sum();

  static L2Bound bound(std::size_t points, double clip);
  static NumericSlack slack();

 private:
  void begin(std::size_t reading);
  void evaluate(const Rows& rows, std::span<double> losses);
  void add(const Rows& rows, LatticeAccumulator& sum);

  Objective& objective_;
  double half_;
  LossesTogether* together_;
  std::size_t stride_, count_, at_once_, first_ = 0;
  AlignedVector<float> points_;
  AtPoint at_;                  ///< point number first_, unless points come together
  std::vector<double> losses_;  ///< of a reading's points, of the rows at hand
};

}  // namespace dpmpi
