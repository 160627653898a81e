#pragma once
// One record at a time through a network of layers, forwards and back.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "objective/layers/sequence.hpp"
#include "objective/layers/trained.hpp"
#include "objective/objective.hpp"
#include "objective/score_writer.hpp"

namespace dpmpi {

/// Layers, and the shape of the records that they take: features stand channel after channel, row after row.
struct LayeredShape {
  LayerPlans plans;
  Volume in;
  TrainedLayers trained = {};
};

/// How often a rank has the layers in memory, each time with their values for one record.
struct LayerPasses {
  std::size_t in_float = 1, in_double = 1;
};

/// Throws ConfigError if layers do not fit to each other, if the last one does not give `outputs` numbers, if no
/// trained layer has parameters, or if they need more memory than is free. `passes`: what a rank makes of them.
void check_layers(const LayeredShape& shape, std::size_t outputs, const LayerPasses& passes = {});
/// The same of layers whose outputs are an image: in its shape, or a list of its numbers.
void check_layers_make(const LayeredShape& shape, const Volume& image, const LayerPasses& passes = {});
/// Each layer with its shape, parameters and products, as plans show it.
std::vector<std::string> structure_of(const LayeredShape& shape);

/// Says how the outputs come from the features, at the parameters of all layers. The shape must outlive it.
ScoreRecipe recipe_of(const LayeredShape& shape);

/// T: float, or double. A record's gradient is made in cache, whole. Local; allocates when it is made, and never
/// again.
template <class T>
class RecordPass {
 public:
  explicit RecordPass(const LayeredShape& shape);

  const Sequence<T>& network() const { return network_; }
  const TrainedPart& trained() const { return trained_; }
  std::size_t dim() const { return trained_.size(); }  ///< parameters that are trained
  std::size_t outputs() const { return outputs_; }
  /// Of forward and backward pass: two operations a multiplication, and twice as many backwards, as far as that
  /// goes.
  double flops() const;

  /// What all parameters are, of which those that are not trained keep these numbers.
  void start_from(std::span<const float> numbers) { std::ranges::copy(numbers, whole_.begin()); }
  /// All parameters where those that are trained are w; valid until the next call.
  std::span<const T> whole(std::span<const T> w);
  /// Moves to these parameters.
  void load(std::span<const T> w) { network_.load(whole(w)); }
  /// As Layer::draw(), of which the record is the one at hand.
  void draw(const LayerDraws* from) { network_.draw(from); }
  /// Takes row r to be the record at hand.
  void read(const Rows& rows, std::size_t r);
  /// Whether all features of the record at hand are finite. Layers alone do not always say so: tanh makes 1 of an
  /// infinite number, and a pool passes over it.
  bool finite() const { return finite_; }
  /// The record at hand as layers take it, with room_for() its shape.
  const T* input() const { return input_.data(); }
  /// The outputs of the record at hand, or of another input; valid until the next call.
  const T* forward() { return forward(input()); }
  const T* forward(const T* input) { return network_.forward(input); }
  const T* forward(const Rows& rows, std::size_t r) { return read(rows, r), forward(); }
  /// After forward(): makes gradient() from the slopes of a loss by the outputs.
  void backward(std::span<const double> slopes);

  /// By all parameters of the network, of which those that are not trained do not count.
  std::span<T> gradient() { return gradient_; }
  /// How many trained layers have parameters.
  std::size_t layers() const { return layers_.size(); }
  /// Writes the squared norms of gradient() in these layers.
  void squares(std::span<double> out) const;
  /// Multiplies gradient() in each of them by a factor, which rounds as each product does.
  void scale(std::span<const double> factors);

  /// Adds the dim() coordinates of gradient().
  void add_gradient(LatticeAccumulator& sum) const;

 private:
  /// The parameters of one layer.
  struct Range {
    std::size_t first, size;
  };
  static std::vector<Range> layers_of(const std::vector<ParameterGroup>& groups);

  Sequence<T> network_;
  TrainedPart trained_;
  std::vector<T> whole_;  ///< parameters of all layers, where not all are trained
  std::size_t outputs_;
  std::vector<Range> layers_;
  AlignedVector<float> features_;  ///< of one record, as it is stored
  bool finite_ = false;
  AlignedVector<T> input_;             ///< as layers take it
  AlignedVector<T> delta_, gradient_;  ///< likewise of one record
};

/// What scaling a float32 gradient of `dim` numbers to a bound adds to it: the squares of float32 numbers are exact
/// in double, so a norm of S terms is off by less than (S + 8) 2^-53. The factor and each scaled number round to
/// float32 (2^-24 each; subnormal numbers go to zero). Each record is rounded to the lattice by itself.
inline NumericSlack record_gradient_slack(std::size_t dim) {
  return {.clip = 3 * 0x1p-24 + static_cast<double>(dim + 8) * 0x1p-53, .summed_rows = 1};
}

}  // namespace dpmpi
