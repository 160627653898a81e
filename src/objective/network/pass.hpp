#pragma once
// A micro-batch of records in a network: its levels and deltas, and its clipped gradients.

#include <span>
#include <vector>

#include "objective/network/gradient.hpp"
#include "objective/network/input_rows.hpp"
#include "objective/network/network.hpp"
#include "objective/objective.hpp"
#include "objective/output_loss.hpp"

namespace dpmpi {

/// Calls kernel(part, first) for consecutive parts of at most `at_once` rows.
template <class Kernel>
void for_each_part(const Rows& rows, std::size_t at_once, Kernel kernel) {
  for (std::size_t first = 0; first < rows.size(); first += at_once)
    kernel(Rows{rows.records, rows.index.subspan(first, std::min(at_once, rows.size() - first))}, first);
}

/// The label of row r.
inline float label(const Rows& rows, std::size_t r) { return rows.records.label[rows.index[r]]; }

/// BugError if the records are not of the network's width.
void check_inputs(const MlpShape& shape, const Rows& rows);
/// Writes the rows of level 0 (inputs, constant, zeros), width(0) numbers each. BugError if the records are not of
/// the network's width. T: float or double.
template <class T>
void copy_inputs(const MlpShape& shape, const Rows& rows, T* out);
/// The same with empty rows behind them, up to a multiple of 16. Returns the padded number.
template <class T>
std::size_t gather_input(const MlpShape& shape, const Rows& rows, Scratch<T>& input);

/// Each layer's matrix and bias, named layer1.weight, layer1.bias, ... (weight, bias if there is one layer).
std::vector<ParameterGroup> network_groups(const MlpShape& shape);
/// Floating-point operations of one clipped gradient.
double network_flops(const MlpShape& shape);
/// Throws ConfigError if a layer has no unit.
void check_units(const MlpShape& shape);

/// A public start point of the weights: Gaussian, of variances that keep the scale of signals; a single layer
/// starts at zero, the centre of a convex problem. w: shape.dim() values. `first` (even): the stream's first number
/// that is used, of shape.dim() numbers.
void initialise_network(const MlpShape& shape, const PublicStream& stream, std::span<float> w,
                        std::uint64_t first = 0);

/// Forward passes over records, in float32.
class MlpPass {
 public:
  static constexpr std::size_t rows_at_once = 128;
  explicit MlpPass(const MlpShape& shape)
      : shape_(shape), input_(shape, rows_at_once), network_(shape, rows_at_once) {}

  /// Levels 0 .. layers(); returns the padded number of rows.
  std::size_t forward(const Rows& rows) {
    const std::size_t padded = input_.gather(rows);
    network_.forward(input_.rows(), padded);
    return padded;
  }
  InputRows& input() { return input_; }  ///< level 0
  const float* outputs(std::size_t row) const { return network_.level(shape_.layers()).row(row); }
  MlpNetwork<float>& network() { return network_; }

 private:
  const MlpShape& shape_;
  InputRows input_;
  MlpNetwork<float> network_;
};

/// Sums of clipped gradients by the weights and by the slopes() of the tail, which stands behind the weights.
class MlpClippedGradient {
 public:
  MlpClippedGradient(const MlpShape& shape, MlpPass& pass, OutputLoss& loss);
  void prepare(std::span<const float> tail) { tail_ = tail; }
  /// At most MlpPass::rows_at_once rows; they are announced to the sum. Leaves the outputs in the pass.
  void add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum);
  /// out[i] = norm of the gradient of row i before clipping, as in add(); NaN where it is not finite.
  void norms(const Rows& rows, std::span<double> out);
  /// False: the gradient of this row of the last add() was not finite, and nothing was added.
  bool kept(std::size_t row) const { return kept_[row] != 0; }
  NumericSlack slack() const;

  // The pieces of add(), for contributions that several rows make together:

  /// Levels and deltas of the rows.
  void run(const Rows& rows);
  /// Squared norms of a row's gradient: of the layers, and of the slopes. Valid until the next call.
  std::span<double> squares(std::size_t row);
  /// Multiplies a row's gradient: that of each layer, and the slopes, by a factor.
  void scale_row(std::size_t row, std::span<const double> factors);
  /// The row's gradient is zero, whatever it was.
  void zero_row(std::size_t row);
  /// Adds the sum of rows 0 .. rows - 1; their contributions were announced.
  void add_rows(std::size_t rows, LatticeAccumulator& sum);

 private:
  void set_output_deltas(const Rows& rows);
  void clip_row(std::size_t row, const L2Bound& bound);
  void add_slopes(std::size_t rows, LatticeAccumulator& sum);

  const MlpShape& shape_;
  MlpPass& pass_;
  OutputLoss& loss_;
  LayerGradient<float> gradient_;
  std::span<const float> tail_;
  std::vector<double> outputs_, delta_;  ///< of one row
  std::vector<double> slopes_;           ///< rows x loss.slopes()
  std::vector<double> factors_;          ///< of each layer, and of the slopes
  std::vector<char> kept_;
};

}  // namespace dpmpi
