#pragma once
// Clipped differences of a multilayer perceptron's gradients at two points, safe against cancellation.

#include <span>
#include <vector>

#include "objective/network/gradient.hpp"
#include "objective/network/pair.hpp"
#include "objective/objective.hpp"
#include "objective/output_loss.hpp"

namespace dpmpi {

/// One record's deltas and inputs of a layer at w (d, a) and v (d', a'), as what their difference is made of.
template <class T>
struct LayerDifference {
  std::span<const T> delta_change;  ///< Dd = d - d'
  std::span<const T> level;         ///< a'
  std::span<const T> delta;         ///< d; empty in the first layer, whose input does not change
  std::span<const T> level_change;  ///< Da = a - a'; empty in the first layer
};

/// The squared norm of d a^T - d' a'^T = Dd a'^T + d Da^T, never below the true one:
///   |Dd|^2 |a'|^2 + |d|^2 |Da|^2 + 2 <Dd, d> <a', Da> + 2^-46 S (|Dd| |a'| + |d| |Da|)^2,
/// S = length of the dot products, all in double. The last term exceeds the rounding of the others, which can
/// cancel; without it a record of large activations could contribute many times the clip. NaN if an operand is not
/// finite (or its square exceeds 2^500; 2^80 for float32, whose smallest numbers are not that much smaller than a
/// lattice's quantum). Lengths are multiples of 16.
template <class T>
double squared_norm(const LayerDifference<T>& layer);

/// What a layer is clipped by: at least squared_norm(layer), and at least (|Dd| |a'| + |d| |Da|)^2 / 4. So the two
/// parts of a clipped difference together keep within twice the clip, and rounding them stays small beside it, even
/// where more than half of them cancels (where the layer is clipped more than it would have to be).
template <class T>
double clipping_square(const LayerDifference<T>& layer);

/// The kernel, for the gradient by the weights and by the loss's slopes() (as MlpClippedGradient): the contribution
/// uses the very same bits Dd, a', d, Da as the norm.
class MlpDifference {
 public:
  MlpDifference(const MlpShape& shape, OutputLoss& loss);
  /// Points of shape.dim() weights and the loss's tail.
  void prepare(std::span<const float> w, std::span<const float> v);
  /// At most MlpPass::rows_at_once rows; they are announced to the sum.
  void add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum);

  /// The two parts P = Dd a'^T and Q = d Da^T of a clipped difference have |P| + |Q| <= 2 clip. The factor and the
  /// scaled rows round once each: 2 * 2 * 2^-24 of the clip. The float32 sum of m rows is that of the P, a chain of
  /// m terms, and that of the Q, added up: its error is at most (m + 2) 2^-24 * m * 2 clip, twice that of m terms
  /// within the clip.
  static NumericSlack slack();

 private:
  void set_output_deltas(const Rows& rows);
  LayerDifference<float> layer_difference(std::size_t layer, std::size_t row);
  void clip_row(std::size_t row, const L2Bound& bound);
  void zero_row(std::size_t row);
  void add_slopes(std::size_t rows, LatticeAccumulator& sum);

  const MlpShape& shape_;
  OutputLoss& loss_;
  Scratch<float> input_;
  MlpPair pair_;
  LayerGradient<float> gradient_;
  std::span<const float> tail_w_, tail_v_;
  std::vector<double> outputs_, delta_w_, delta_v_, slope_v_;  ///< of one row
  std::vector<double> slope_changes_;                          ///< rows x loss.slopes()
  std::vector<double> factors_;
};

}  // namespace dpmpi
