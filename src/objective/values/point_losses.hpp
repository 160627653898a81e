#pragma once
// Losses at a list of points, of any objective: its own where it has a way to give them, else those at the points
// rounded to float32, one point prepared at a time.

#include <span>
#include <vector>

#include "objective/objective.hpp"

namespace dpmpi {

class PointLosses {
 public:
  /// `objective` must outlive this.
  explicit PointLosses(Objective& objective) : objective_(objective), own_(objective.points()) {}

  /// As LossesAtPoints::prepare_points and losses_at.
  void prepare(std::span<const double> points);
  void losses(std::size_t p, const Rows& rows, std::span<double> out);

 private:
  Objective& objective_;
  LossesAtPoints* own_;
  std::vector<float> points_;
  std::size_t prepared_ = 0;  // which of points_; their number: none
};

}  // namespace dpmpi
