#pragma once
// Losses at a list of points, of any objective: its own where it has a way to give them, else those at the points
// rounded to float32, one point prepared at a time, or several in one call where the objective takes them so.

#include <optional>
#include <span>
#include <vector>

#include "objective/objective.hpp"

namespace dpmpi {

class PointLosses {
 public:
  /// `objective` must outlive this.
  explicit PointLosses(Objective& objective)
      : objective_(objective),
        own_(objective.points() != nullptr),
        together_(own_ ? nullptr : together(objective)) {}

  /// As Objective::at_points and AtPoints::losses.
  void prepare(std::span<const double> points);
  void losses(std::size_t p, const Rows& rows, std::span<double> out);
  /// How many of the points, from number p on, the next call of losses_from should take. A public number.
  std::size_t at_once(std::size_t p) const;
  /// out[q * rows.size() + i] = loss of row i at point p + q, for q < at_once(p).
  void losses_from(std::size_t p, const Rows& rows, std::span<double> out);

 private:
  /// A run that goes on asks for the points of many steps at once, and needs the losses that it had.
  static LossesTogether* together(Objective& objective) {
    LossesTogether* const found = objective.together();
    return found != nullptr && found->points_are_apart() ? found : nullptr;
  }

  Objective& objective_;
  bool own_;
  LossesTogether* together_;
  AtPoints at_all_;            // own losses
  std::vector<float> points_;  // else, those of prepare()
  std::optional<std::size_t> present_;
  AtPoint at_;  // number present_ of points_
};

}  // namespace dpmpi
