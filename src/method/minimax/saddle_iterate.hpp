#pragma once
// The pair (x, y) of a min-max method, and how released means move it. Nothing here sees a record: it is all
// post-processing, the same on every rank.

#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "core/files/archive.hpp"
#include "method/minimax/options.hpp"
#include "objective/minimax/saddle.hpp"

namespace dpmpi {

class SaddleIterate {
 public:
  /// `options` and `objective` must outlive it.
  void start(SaddleObjective& objective, SaddleOptions& options, std::uint64_t rounds);

  std::span<const float> point() const { return w_; }  ///< (x, y)
  std::span<const float> x() const { return point().first(objective_->primal_dim()); }
  std::span<const float> y() const { return point().subspan(objective_->primal_dim()); }

  /// gradient += the public part of the primal gradient, the regulariser with it. primal_dim() coordinates.
  void add_public_primal(std::uint64_t r, std::span<double> gradient);
  /// gradient += the public part of the dual gradient at public step s. dual_dim() coordinates.
  void add_public_dual(std::uint64_t s, std::span<double> gradient) const;
  /// x <- x - eta_x(r) * direction(gradient).
  void descend(std::span<const double> gradient, std::uint64_t r);
  /// y <- Pi_Y(y + rate * gradient).
  void ascend(std::span<const double> gradient, double rate);

  /// Round r is over.
  void end_round(std::uint64_t r);
  /// The newest pair; after the last round, the output.
  std::span<const float> published() const { return published_; }
  void archive(Archive& archive);

 private:
  SaddleObjective* objective_ = nullptr;
  SaddleOptions* options_ = nullptr;
  std::uint64_t rounds_ = 0, chosen_round_ = 0;
  AlignedVector<float> w_, published_, chosen_, scratch_;
};

}  // namespace dpmpi
