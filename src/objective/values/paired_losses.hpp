#pragma once
// The pairs of losses of zeroth-order estimators, of any objective: its own where it has a way to give them in
// double, else the losses at points rounded to float32.

#include <span>
#include <vector>

#include "objective/objective.hpp"

namespace dpmpi {

class PairedLosses {
 public:
  /// `objective` must outlive this.
  explicit PairedLosses(Objective& objective) : objective_(objective), own_(objective.pairs() != nullptr) {}

  /// As Objective::probes and AtProbes::probe.
  void prepare(std::span<const double> x, std::span<const double> y);
  void probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
             std::span<double> down);

 private:
  double loss_at(const Rows& row, std::span<const double> from, double step, const double* u);

  Objective& objective_;
  bool own_;
  AtProbes at_;                    // own pairs
  std::span<const double> x_, y_;  // else
  std::vector<float> point_;
};

}  // namespace dpmpi
