#pragma once
// The settings of private-diff and what follows from them: three families of queries, their shares of the budget
// and the clip of differences.

#include <cstdint>
#include <span>
#include <string_view>

#include "method/minimax/options.hpp"

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

class PrivateDiffOptions : public SaddleOptions {
 public:
  std::int64_t restart = 8;     ///< T
  std::int64_t dual_steps = 1;  ///< T_2
  double restart_share = 0.6, difference_share = 0.3, dual_share = 0.1;
  double slope = -1, dual_slope = -1, least = -1;  ///< C_2, C_2y, C_3; -1: by default

  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;
  DifferenceRadius radius(const SaddleObjective& f) const;

  /// Releases of the three families in R rounds.
  struct Counts {
    std::uint64_t restart, difference, dual;
  };
  Counts counts(std::uint64_t rounds) const;
  /// The queries restart, difference and dual, those of them that there are, with
  /// z_f = noise_multiplier * sqrt(count_f / share_f): the multiplier is that of the whole run, were it not
  /// sampled.
  std::vector<QuerySpec> families(const PublicFacts& facts, double noise_multiplier) const;

 private:
  double multiplier(std::string_view family, const Counts& counts, bool primal) const;
};

}  // namespace dpmpi
