#pragma once
// Forward and backward passes of a multilayer perceptron over one micro-batch, in float or double.

#include <cstddef>
#include <span>

#include "objective/math/dot.hpp"
#include "objective/network/products.hpp"
#include "objective/network/shape.hpp"

namespace dpmpi {

/// [W b]^T of one layer of `parameters` (dim() values), as the right operand of products with the layer's input:
/// room for it (its columns padded to a multiple of 16), and its values.
template <class T>
PackedMatrix<T> packed_layer(const MlpShape& shape, std::size_t layer);
template <class T>
void pack_layer(const MlpShape& shape, std::size_t layer, std::span<const float> parameters, PackedMatrix<T>& to);

/// The weights at one point and the levels and deltas of one micro-batch there.
template <class T>
class MlpNetwork {
 public:
  MlpNetwork(const MlpShape& shape, std::size_t rows);

  /// Moves to w (dim() values at least, unchanged until the next call or the end of the passes).
  void load(std::span<const float> w);
  /// Moves coordinates first, first + 1, ... to the values of `part`. For forward passes only.
  void load_part(std::size_t first, std::span<const float> part);

  /// Levels 1 .. layers() from level 0 = `input`. `rows`: a multiple of 16.
  void forward(const LevelRows<T>& input, std::size_t rows);
  /// delta(l) = gradient of the loss by the sums of level l, for l < layers(), from delta(layers()).
  void backward(std::size_t rows);

  Scratch<T>& level(std::size_t l) { return levels_[l]; }  ///< l >= 1; level(layers()) holds the outputs
  Scratch<T>& delta(std::size_t l) { return deltas_[l]; }  ///< l >= 1
  const Scratch<T>& level(std::size_t l) const { return levels_[l]; }
  const Scratch<T>& delta(std::size_t l) const { return deltas_[l]; }

 private:
  void transform(std::size_t layer, const LevelRows<T>& from, std::size_t rows);
  void activate(std::size_t l, std::size_t rows);
  void pack_backward();

  const MlpShape& shape_;
  std::vector<Scratch<T>> levels_, deltas_;
  std::vector<PackedMatrix<T>> forward_;   ///< [W_l b_l]^T
  std::vector<PackedMatrix<T>> backward_;  ///< W_l; empty for l = 0, and before the first backward pass
  std::span<const float> at_;              ///< w; empty if it was loaded in parts
  bool backward_packed_ = false;
};

/// x[j] = activation(x[j]) for j < n.
template <class T>
void apply(Activation activation, T* x, std::size_t n);
/// delta[j] *= activation'(s), written in a[j] = activation(s), for j < n.
template <class T>
void apply_derivative(Activation activation, const T* a, T* delta, std::size_t n);

}  // namespace dpmpi
