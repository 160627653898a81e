#pragma once
// The settings of private-diff, the clip of differences that follows from them, and when the difference estimator
// has less noise than single-level noise (derivations in docs/methods/minimax.md).

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "method/minimax/settings.hpp"

namespace dpmpi {

/// C_r, the clip of one record's gradient difference between two points: a function of released points alone, so
/// that it costs nothing, and noise in its proportion makes the privacy of a round a constant.
struct DifferenceRadius {
  double slope = 0;       ///< C_2, per unit of |x - x'|
  double dual_slope = 0;  ///< C_2y, per unit of |y - y'|: dual moves with their noise
  double least = 0;       ///< C_3
  double most = 0;        ///< 2 C_1: no difference of clipped gradients is larger

  /// min(C_2 |x - x'| + C_2y |y - y'| + C_3, most), and at least 1e-9 C_1. w = (x, y), v = (x', y').
  double between(std::span<const float> w, std::span<const float> v, std::size_t primal_dim) const;
};

struct PrivateDiffSettings final : MethodSettings {
  SaddleSettings common;
  std::int64_t restart = 8;     ///< T
  std::int64_t dual_steps = 1;  ///< T_2
  double restart_share = 0.6, difference_share = 0.3, dual_share = 0.1;
  double slope = -1, dual_slope = -1, least = -1;  ///< C_2, C_2y, C_3; -1: by default

  void declare(Options& options) override;
  void validate(std::vector<std::string>& problems) const override;
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;

  DifferenceRadius radius(const SaddleObjective& f) const;
};

/// Mean squared noise of the estimator over a block of T rounds, over that of one noisy gradient a round at the
/// same first-order budget. rho: difference clip over gradient clip. An equal split: 2 / T + rho^2 (T - 1)^2 / T.
double difference_noise_energy(double T, double rho);
/// The same with the best split (sqrt(A) + sqrt(B))^2, A = 1 / T, B = rho^2 (T - 1)^2 / (2 T).
double best_difference_noise_energy(double T, double rho);
/// The restarts' share of the budget in that split: sqrt(A) / (sqrt(A) + sqrt(B)).
double best_restart_share(double T, double rho);

}  // namespace dpmpi
