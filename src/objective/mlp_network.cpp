#include "dpmpi/objective/mlp_network.hpp"

#include <algorithm>
#include <utility>

#include "dpmpi/objective/mlp_activation.hpp"
#include "dpmpi/objective/mlp_products.hpp"

namespace dpmpi {
namespace {

/// Output units of a weight-gradient panel; a float panel of 128 x 192 takes 96 KB of the second-level cache.
template <class T>
constexpr std::size_t units_at_once = 512 / sizeof(T);

template <class T>
MatrixView<const T> view(const Scratch<T>& m, std::size_t rows) {
  return {m.row(0), rows, m.width, m.width};
}
template <class T>
MatrixView<T> view(Scratch<T>& m, std::size_t rows) {
  return {m.row(0), rows, m.width, m.width};
}

/// Columns first .. first + cols - 1.
template <class View>
View columns(View m, std::size_t first, std::size_t cols) {
  return {m.data + first, m.rows, cols, m.stride};
}

template <class T>
void apply(Activation activation, T* x, std::size_t n) {
  switch (activation) {
    case Activation::relu:
      for (std::size_t j = 0; j < n; ++j) x[j] = x[j] < T(0) ? T(0) : x[j];
      return;
    case Activation::tanh:
      for (std::size_t j = 0; j < n; ++j) x[j] = elementary::tanh(x[j]);
      return;
    case Activation::softplus:
      for (std::size_t j = 0; j < n; ++j) x[j] = elementary::softplus(x[j]);
      return;
  }
}

/// delta *= activation'(s), written in a = activation(s).
template <class T>
void apply_derivative(Activation activation, const T* a, T* delta, std::size_t n) {
  switch (activation) {
    case Activation::relu:
      for (std::size_t j = 0; j < n; ++j) delta[j] = a[j] > T(0) ? delta[j] : T(0);
      return;
    case Activation::tanh:
      for (std::size_t j = 0; j < n; ++j) delta[j] *= (T(1) - a[j]) * (T(1) + a[j]);
      return;
    case Activation::softplus:  // sigmoid(s) = 1 - exp(-softplus(s))
      for (std::size_t j = 0; j < n; ++j) delta[j] *= -elementary::expm1_nonpositive(-a[j]);
      return;
  }
}

/// Rows 0 .. count-1 of `to` = rows first .. of [W b] of one layer of `w`.
template <class T>
void copy_units(const MlpShape& shape, std::size_t layer, std::span<const float> w, std::size_t first,
                std::size_t count, Scratch<T>& to) {
  const std::size_t inputs = shape.inputs(layer);
  const float* matrix = w.data() + shape.weight_offset(layer) + first * inputs;
  const float* bias = w.data() + shape.bias_offset(layer) + first;
  for (std::size_t o = 0; o < count; ++o) {
    std::copy_n(matrix + o * inputs, inputs, to.row(o));
    if (shape.has_bias(layer)) to.row(o)[inputs] = bias[o];
  }
}

}  // namespace

template <class T>
MlpNetwork<T>::MlpNetwork(const MlpShape& shape, std::size_t rows) : shape_(shape) {
  for (std::size_t l = 0; l <= shape.layers(); ++l) {
    levels_.emplace_back(l == 0 ? 0 : rows, shape.width(l));
    deltas_.emplace_back(l == 0 ? 0 : rows, shape.width(l));
    if (l < shape.layers()) weights_.emplace_back(shape.width(l + 1), shape.width(l));
  }
}

template <class T>
void MlpNetwork<T>::load(std::span<const float> w, std::size_t first_layer) {
  for (std::size_t l = first_layer; l < shape_.layers(); ++l)
    copy_units(shape_, l, w, 0, shape_.outputs(l), weights_[l]);
}

template <class T>
void MlpNetwork<T>::load(std::span<const float> w, float step, std::span<const float> direction,
                         std::size_t first_layer) {
  for (std::size_t l = first_layer; l < shape_.layers(); ++l) {
    const std::size_t inputs = shape_.inputs(l), matrix = shape_.weight_offset(l), bias = shape_.bias_offset(l);
    for (std::size_t o = 0; o < shape_.outputs(l); ++o) {
      T* row = weights_[l].row(o);
      const float* from = w.data() + matrix + o * inputs;
      const float* along = direction.data() + matrix + o * inputs;
      for (std::size_t j = 0; j < inputs; ++j) row[j] = from[j] + step * along[j];
      if (shape_.has_bias(l)) row[inputs] = w[bias + o] + step * direction[bias + o];
    }
  }
}

template <class T>
void MlpNetwork<T>::transform(std::size_t layer, const Scratch<T>& from, std::size_t rows) {
  Scratch<T>& to = levels_[layer + 1];
  multiply_transposed<T>(view(from, rows), view(std::as_const(weights_[layer]), to.width), view(to, rows));
  activate(layer + 1, rows);
}

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
void MlpNetwork<T>::forward(const Scratch<T>& input, std::size_t rows) {
  transform(0, input, rows);
  forward_from(1, rows);
}

template <class T>
void MlpNetwork<T>::forward_from(std::size_t l, std::size_t rows) {
  for (; l < shape_.layers(); ++l) transform(l, levels_[l], rows);
}

template <class T>
void MlpNetwork<T>::backward(std::size_t rows) {
  for (std::size_t l = shape_.layers() - 1; l > 0; --l) {
    const Scratch<T>& from = deltas_[l + 1];
    Scratch<T>& to = deltas_[l];
    multiply<T>(view(from, rows), view(std::as_const(weights_[l]), from.width), view(to, rows));
    apply_derivative(shape_.activation, levels_[l].row(0), to.row(0), rows * to.width);
    for (std::size_t r = 0; r < rows; ++r) std::fill(to.row(r) + shape_.units[l], to.row(r) + to.width, T{0});
  }
}

FirstLayer::FirstLayer(const MlpShape& shape) : shape_(shape), panel_(columns_at_once<float>, shape.width(0)) {}

void FirstLayer::sums(const Scratch<float>& input, std::span<const float> parameters, std::size_t rows,
                      Scratch<float>& to) {
  const std::size_t outputs = shape_.outputs(0);
  for (std::size_t o = 0; o < outputs; o += columns_at_once<float>) {
    const std::size_t count = std::min(columns_at_once<float>, outputs - o), padded = round_up(count, 16);
    copy_units(shape_, 0, parameters, o, count, panel_);
    std::fill(panel_.row(count), panel_.row(padded), 0.0F);
    multiply_transposed<float>(view(input, rows), view(std::as_const(panel_), padded),
                               columns(view(to, rows), o, padded));
  }
}

template <class T>
LayerGradient<T>::LayerGradient(const MlpShape& shape)
    : shape_(shape), panel_(units_at_once<T> * columns_at_once<T>) {}

template <class T>
void LayerGradient<T>::add(std::size_t layer, std::span<const OuterProducts<T>> terms, std::size_t rows,
                           LatticeAccumulator& sum) {
  const std::size_t width = shape_.width(layer), height = shape_.width(layer + 1);
  for (std::size_t j = 0; j < width; j += columns_at_once<T>) {
    const std::size_t cols = std::min(columns_at_once<T>, width - j);
    for (std::size_t u = 0; u < height; u += units_at_once<T>) {
      const std::size_t units = std::min(units_at_once<T>, height - u);
      for (std::size_t t = 0; t < terms.size(); ++t)
        multiply_outer<T>(columns(view(terms[t].delta, rows), u, units),
                          columns(view(terms[t].level, rows), j, cols), t > 0, {panel_.data(), units, cols, cols});
      round_panel(layer, u, units, j, cols, sum);
    }
  }
}

template <class T>
void LayerGradient<T>::round_panel(std::size_t layer, std::size_t first_unit, std::size_t units, std::size_t first,
                                   std::size_t cols, LatticeAccumulator& sum) const {
  const std::size_t inputs = shape_.inputs(layer);
  const std::size_t weights = std::min(first + cols, inputs) - std::min(first, inputs);
  const bool bias = shape_.has_bias(layer) && first <= inputs && inputs < first + cols;
  for (std::size_t u = 0; u < units && first_unit + u < shape_.outputs(layer); ++u) {
    const std::span<const T> row(panel_.data() + u * cols, cols);
    sum.add(shape_.weight_offset(layer) + (first_unit + u) * inputs + first, row.first(weights));
    if (bias) sum.add(shape_.bias_offset(layer) + first_unit + u, row.subspan(inputs - first, 1));
  }
}

template <class T>
double squared_norm(const T* a, std::size_t width) {
  return dot(a, a, width);
}

template <class T>
double dot(const T* a, const T* b, std::size_t width) {
  constexpr std::size_t lanes = 16;
  double sums[lanes] = {};
  for (std::size_t j = 0; j < width; j += lanes)
    for (std::size_t k = 0; k < lanes; ++k)
      sums[k] += static_cast<double>(a[j + k]) * static_cast<double>(b[j + k]);
  for (std::size_t half = lanes / 2; half > 0; half /= 2)
    for (std::size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  return sums[0];
}

template class MlpNetwork<float>;
template class MlpNetwork<double>;
template class LayerGradient<float>;
template class LayerGradient<double>;
template double squared_norm(const float*, std::size_t);
template double squared_norm(const double*, std::size_t);
template double dot(const double*, const double*, std::size_t);

}  // namespace dpmpi
