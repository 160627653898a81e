#pragma once
// The pair (x, y) of a min-max method, and how released means move it. Nothing here sees a record: it is all
// post-processing, the same on every rank.

#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "core/files/archive.hpp"
#include "method/minimax/settings.hpp"
#include "objective/minimax/saddle.hpp"

namespace dpmpi {

class SaddleIterate {
 public:
  /// At the start point. `objective` must outlive it.
  SaddleIterate(SaddleObjective& objective, const SaddleSettings& settings, std::uint64_t rounds);

  std::span<const float> point() const { return w_; }  ///< (x, y)
  std::span<const float> x() const { return point().first(objective_.primal_dim()); }
  std::span<const float> y() const { return point().subspan(objective_.primal_dim()); }

  /// gradient += the public part of the primal gradient, the regulariser with it. primal_dim() coordinates.
  void add_public_primal(std::uint64_t r, std::span<double> gradient);
  /// gradient += the public part of the dual gradient at public step s. dual_dim() coordinates.
  void add_public_dual(std::uint64_t s, std::span<double> gradient) const;
  /// x <- x - eta_x(r) * direction(gradient).
  void descend(std::span<const double> gradient, std::uint64_t r);
  /// eta_y of dual step i of round r.
  double dual_rate_at(std::uint64_t r, std::uint64_t i) const;
  /// y <- Pi_Y(y + rate * gradient).
  void ascend(std::span<const double> gradient, double rate);

  /// Round r is over.
  void end_round(std::uint64_t r);
  /// The newest pair; after the last round, the output.
  std::span<const float> published() const { return published_; }
  void archive(Archive& archive);

 private:
  SaddleObjective& objective_;
  double dual_rate_;
  SaddleSettings::DualSchedule dual_schedule_;
  std::uint64_t rounds_, chosen_round_;
  Optimizer descent_;
  AlignedVector<float> w_, published_, chosen_, scratch_;
};

}  // namespace dpmpi
