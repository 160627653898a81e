#pragma once
// Clipped differences of a multilayer perceptron's gradients at two points, safe against cancellation.

#include <span>

#include "dpmpi/objective/mlp_gradient.hpp"
#include "dpmpi/objective/mlp_head.hpp"
#include "dpmpi/objective/mlp_network.hpp"
#include "dpmpi/objective/objective.hpp"

namespace dpmpi {

/// Two rows of a layer's deltas and inputs at w (d, a) and v (d', a'), as what their difference is made of.
struct LayerDifference {
  std::span<const double> delta_change;  ///< Dd = d - d'
  std::span<const double> level;         ///< a
  std::span<const double> delta;         ///< d'; empty in the first layer, whose input does not change
  std::span<const double> level_change;  ///< Da = a - a'; empty in the first layer
};

/// The squared norm of d a^T - d' a'^T = Dd a^T + d' Da^T, never below the true one:
///   |Dd|^2 |a|^2 + |d'|^2 |Da|^2 + 2 <Dd, d'> <a, Da>  +  2^-46 S (|Dd| |a| + |d'| |Da|)^2,
/// S = length of the dot products. The last term exceeds the rounding of the others, which can cancel; without it a
/// record of large activations could contribute many times the clip. NaN if an operand is not finite (or its square
/// > 2^500). Lengths are multiples of 16.
double squared_norm(const LayerDifference& layer);

/// The kernel: the contribution uses the very same bits Dd, a, d', Da as the norm. Double precision throughout, for
/// differences over small steps are below float32's rounding.
class MlpDifference {
 public:
  explicit MlpDifference(const MlpShape& shape);
  void prepare(std::span<const float> w, std::span<const float> v);
  /// At most rows_at_once() rows.
  void add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum);
  static constexpr std::size_t rows_at_once() { return 64; }

  /// Scaling rounds Dd and d' to 2^-53 of themselves; with the guard, factor * (|Dd| |a| + |d'| |Da|) <= 2^23 clip,
  /// so the contribution exceeds the clip by at most 2^-30, and the factor's own rounding by less than that.
  static constexpr double clip_slack = 0x1p-29;

 private:
  void set_output_deltas(const Rows& rows, MlpNetwork<double>& network);
  void subtract(std::size_t rows);
  LayerDifference layer_difference(std::size_t layer, std::size_t row) const;
  void clip_row(std::size_t row, const L2Bound& bound);
  void zero_row(std::size_t row);

  const MlpShape& shape_;
  MlpHead head_;
  Scratch<double> input_;
  MlpNetwork<double> at_w_, at_v_;  ///< after subtract(): deltas Dd and d', levels a and Da
  LayerGradient<double> gradient_;
  std::vector<double> factors_;
};

}  // namespace dpmpi
