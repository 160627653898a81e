#pragma once
// Forward and backward passes of a multilayer perceptron over one micro-batch, in float or double.

#include <cstddef>
#include <span>

#include "dpmpi/core/lattice.hpp"
#include "dpmpi/objective/mlp_shape.hpp"

namespace dpmpi {

/// Padded scratch for `rows` x `width` values, 64-byte-aligned rows.
template <class T>
struct Scratch {
  std::size_t width = 0;
  AlignedVector<T> values;
  Scratch(std::size_t rows, std::size_t row_width) : width(row_width), values(rows * row_width, T{0}) {}
  T* row(std::size_t r) { return values.data() + r * width; }
  const T* row(std::size_t r) const { return values.data() + r * width; }
};

/// The weights at one point and the levels and deltas of one micro-batch there.
template <class T>
class MlpNetwork {
 public:
  MlpNetwork(const MlpShape& shape, std::size_t rows);

  /// Copies the weights of layers `first_layer`.. of w + step * direction (no direction: of w) into padded scratch.
  void load(std::span<const float> w, std::size_t first_layer = 0);
  void load(std::span<const float> w, float step, std::span<const float> direction, std::size_t first_layer);

  /// Levels 1 .. layers() from level 0 = `input`. `rows`: a multiple of 16.
  void forward(const Scratch<T>& input, std::size_t rows);
  /// Turns sums s in level(l) into the level itself: activation, constant, zero padding.
  void activate(std::size_t l, std::size_t rows);
  /// Levels l+1 .. layers() from level l.
  void forward_from(std::size_t l, std::size_t rows);
  /// delta(l) = gradient of the loss by the sums of level l, for l < layers(), from delta(layers()).
  void backward(std::size_t rows);

  Scratch<T>& level(std::size_t l) { return levels_[l]; }  ///< l >= 1; level(layers()) holds the outputs
  Scratch<T>& delta(std::size_t l) { return deltas_[l]; }  ///< l >= 1
  const Scratch<T>& level(std::size_t l) const { return levels_[l]; }
  const Scratch<T>& delta(std::size_t l) const { return deltas_[l]; }

 private:
  void transform(std::size_t layer, const Scratch<T>& from, std::size_t rows);

  const MlpShape& shape_;
  std::vector<Scratch<T>> levels_, deltas_, weights_;
};

/// The first layer's sums at any parameters, without a padded copy of its whole matrix: for directions, whose first
/// layer meets each micro-batch only once.
class FirstLayer {
 public:
  explicit FirstLayer(const MlpShape& shape);
  /// to = input [W_0 b_0]^T with the first layer of `parameters` (dim() values). `rows`: a multiple of 16.
  void sums(const Scratch<float>& input, std::span<const float> parameters, std::size_t rows, Scratch<float>& to);

 private:
  const MlpShape& shape_;
  Scratch<float> panel_;
};

/// A product delta^T level that is part of a sum.
template <class T>
struct OuterProducts {
  const Scratch<T>& delta;  ///< rows x width(l + 1)
  const Scratch<T>& level;  ///< rows x width(l)
};

/// Sums over micro-batch rows of the gradient of one layer, panel by panel, rounded to the lattice.
template <class T>
class LayerGradient {
 public:
  explicit LayerGradient(const MlpShape& shape);
  /// Adds delta^T level of every term, row by row of [W b].
  void add(std::size_t layer, std::span<const OuterProducts<T>> terms, std::size_t rows, LatticeAccumulator& sum);

 private:
  void round_panel(std::size_t layer, std::size_t first_unit, std::size_t units, std::size_t first,
                   std::size_t cols, LatticeAccumulator& sum) const;

  const MlpShape& shape_;
  AlignedVector<T> panel_;
};

/// Squared Euclidean norm and dot product, summed in 16 interleaved double sums; `width` is a multiple of 16.
template <class T>
double squared_norm(const T* a, std::size_t width);
template <class T>
double dot(const T* a, const T* b, std::size_t width);

}  // namespace dpmpi
