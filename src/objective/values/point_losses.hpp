#pragma once
// Losses at a list of points, of any objective: its own where it has a way to give them, else those at the points
// rounded to float32, one point prepared at a time.

#include <optional>
#include <span>
#include <vector>

#include "objective/objective.hpp"

namespace dpmpi {

class PointLosses {
 public:
  /// `objective` must outlive this.
  explicit PointLosses(Objective& objective) : objective_(objective), own_(objective.points() != nullptr) {}

  /// As Objective::at_points and AtPoints::losses.
  void prepare(std::span<const double> points);
  void losses(std::size_t p, const Rows& rows, std::span<double> out);

 private:
  Objective& objective_;
  bool own_;
  AtPoints at_all_;            // own losses
  std::vector<float> points_;  // else
  std::optional<std::size_t> present_;
  AtPoint at_;  // number present_ of points_
};

}  // namespace dpmpi
