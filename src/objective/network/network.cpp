#include "objective/network/network.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "objective/network/activation.hpp"

namespace dpmpi {

template <class T>
void apply_derivative(Activation activation, const T* a, T* delta, std::size_t n) {
  switch (activation) {
    case Activation::relu:
      for (std::size_t j = 0; j < n; ++j) delta[j] = a[j] > T(0) ? delta[j] : T(0);
      return;
    case Activation::leaky_relu:
      for (std::size_t j = 0; j < n; ++j) delta[j] = a[j] > T(0) ? delta[j] : T(leak) * delta[j];
      return;
    case Activation::tanh:
      for (std::size_t j = 0; j < n; ++j) delta[j] *= (T(1) - a[j]) * (T(1) + a[j]);
      return;
    case Activation::softplus:  // sigmoid(s) = 1 - exp(-softplus(s))
      for (std::size_t j = 0; j < n; ++j) delta[j] *= -elementary::expm1_nonpositive(-a[j]);
      return;
  }
}

template <class T>
void apply(Activation activation, T* x, std::size_t n) {
  switch (activation) {
    case Activation::relu:
      for (std::size_t j = 0; j < n; ++j) x[j] = x[j] < T(0) ? T(0) : x[j];
      return;
    case Activation::leaky_relu:
      for (std::size_t j = 0; j < n; ++j) x[j] = x[j] < T(0) ? T(leak) * x[j] : x[j];
      return;
    case Activation::tanh:
      for (std::size_t j = 0; j < n; ++j) x[j] = elementary::tanh(x[j]);
      return;
    case Activation::softplus:
      for (std::size_t j = 0; j < n; ++j) x[j] = elementary::softplus(x[j]);
      return;
  }
}

template <class T>
PackedMatrix<T> packed_layer(const MlpShape& shape, std::size_t layer) {
  return {shape.inputs(layer) + (shape.has_bias(layer) ? 1 : 0), round_up(shape.outputs(layer), 16)};
}

template <class T>
void pack_layer(const MlpShape& shape, std::size_t layer, std::span<const float> parameters, PackedMatrix<T>& to) {
  const std::size_t inputs = shape.inputs(layer), outputs = shape.outputs(layer);
  to.set_transposed(parameters.data() + shape.weight_offset(layer), inputs, outputs);
  if (shape.has_bias(layer)) to.set_row(inputs, parameters.data() + shape.bias_offset(layer), outputs);
}

template <class T>
MlpNetwork<T>::MlpNetwork(const MlpShape& shape, std::size_t rows) : shape_(shape) {
  for (std::size_t l = 0; l <= shape.layers(); ++l) {
    levels_.emplace_back(l == 0 ? 0 : rows, shape.width(l));
    deltas_.emplace_back(l == 0 ? 0 : rows, shape.width(l));
    if (l == shape.layers()) break;
    forward_.emplace_back(packed_layer<T>(shape, l));
  }
  backward_.resize(shape.layers());
}

template <class T>
void MlpNetwork<T>::load(std::span<const float> w) {
  for (std::size_t l = 0; l < shape_.layers(); ++l) pack_layer(shape_, l, w, forward_[l]);
  at_ = w;
  backward_packed_ = false;
}

template <class T>
void MlpNetwork<T>::load_part(std::size_t first, std::span<const float> part) {
  const std::size_t end = first + part.size();
  const auto within = [&](std::size_t begin, std::size_t size, auto set) {
    const std::size_t from = std::max(first, begin), to = std::min(end, begin + size);
    if (from < to) set(from - begin, part.subspan(from - first, to - from));
  };
  for (std::size_t l = 0; l < shape_.layers(); ++l) {
    const std::size_t inputs = shape_.inputs(l), outputs = shape_.outputs(l);
    within(shape_.weight_offset(l), outputs * inputs, [&](std::size_t at, std::span<const float> weights) {
      forward_[l].set_transposed_part(at, weights, inputs);
    });
    if (!shape_.has_bias(l)) continue;
    within(shape_.bias_offset(l), outputs, [&](std::size_t at, std::span<const float> biases) {
      forward_[l].set_row(inputs, biases.data(), biases.size(), at);
    });
  }
  at_ = {};
  backward_packed_ = false;
}

// What only backward passes read is made when one comes: evaluations and zeroth-order methods never need it.
template <class T>
void MlpNetwork<T>::pack_backward() {
  verify(at_.size() >= shape_.dim(), "a backward pass needs the whole point");
  for (std::size_t l = 1; l < shape_.layers(); ++l) {
    if (backward_[l].empty()) backward_[l] = {shape_.outputs(l), round_up(shape_.inputs(l), 16)};
    backward_[l].set(at_.data() + shape_.weight_offset(l), shape_.outputs(l), shape_.inputs(l));
  }
  backward_packed_ = true;
}

template <class T>
void MlpNetwork<T>::transform(std::size_t layer, const LevelRows<T>& from, std::size_t rows) {
  forward_[layer].multiply(from, rows, levels_[layer + 1]);
  activate(layer + 1, rows);
}

/// Turns sums s in level(l) into the level itself: activation, constant, zero padding.
template <class T>
void MlpNetwork<T>::activate(std::size_t l, std::size_t rows) {
  if (l == shape_.layers()) return;
  Scratch<T>& level = levels_[l];
  const std::size_t units = shape_.units[l];
  apply(shape_.activation, level.row(0), rows * level.width);
  for (std::size_t r = 0; r < rows; ++r) {
    T* a = level.row(r);
    a[units] = shape_.bias(l);
    std::fill(a + units + 1, a + level.width, T{0});
  }
}

template <class T>
void MlpNetwork<T>::forward(const LevelRows<T>& input, std::size_t rows) {
  transform(0, input, rows);
  for (std::size_t l = 1; l < shape_.layers(); ++l) transform(l, levels_[l], rows);
}

template <class T>
void MlpNetwork<T>::backward(std::size_t rows) {
  if (!backward_packed_) pack_backward();
  for (std::size_t l = shape_.layers() - 1; l > 0; --l) {
    const Scratch<T>& from = deltas_[l + 1];
    Scratch<T>& to = deltas_[l];
    backward_[l].multiply(from, rows, to);
    apply_derivative(shape_.activation, levels_[l].row(0), to.row(0), rows * to.width);
    for (std::size_t r = 0; r < rows; ++r) std::fill(to.row(r) + shape_.units[l], to.row(r) + to.width, T{0});
  }
}

template PackedMatrix<float> packed_layer(const MlpShape&, std::size_t);
template void pack_layer(const MlpShape&, std::size_t, std::span<const float>, PackedMatrix<float>&);
template void apply(Activation, float*, std::size_t);
template void apply(Activation, double*, std::size_t);
template void apply_derivative(Activation, const float*, float*, std::size_t);
template void apply_derivative(Activation, const double*, double*, std::size_t);
template class MlpNetwork<float>;
template class MlpNetwork<double>;

}  // namespace dpmpi
