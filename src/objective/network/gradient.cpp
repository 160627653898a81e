#include "objective/network/gradient.hpp"

#include <algorithm>

#include "objective/network/microkernel.hpp"

namespace dpmpi {

template <class T>
LayerGradient<T>::LayerGradient(const MlpShape& shape, std::size_t rows)
    : shape_(shape),
      levels_(rows * panel_columns<T>),
      tile_(register_rows * panel_columns<T>),
      term_(tile_.size()) {
  std::size_t widest = 0;
  for (std::size_t l = 1; l <= shape.layers(); ++l) widest = std::max(widest, shape.width(l));
  deltas_.resize(rows * widest);
}

template <class T>
template <class Sum>
void LayerGradient<T>::add(std::size_t layer, std::span<const OuterProducts<T>> terms, std::size_t rows, Sum& sum,
                           std::size_t base) {
  const std::size_t width = shape_.width(layer), height = shape_.width(layer + 1), units = shape_.outputs(layer);
  const LevelRows<T>& level = terms[0].level;
  // Two tiles of units read a panel of rows once each, which is no more than to copy it.
  const bool few = terms.size() == 1 && units <= 2 * register_rows;
  pack_deltas(terms, rows, height);
  for (std::size_t j = 0; j < width; j += panel_columns<T>) {
    const std::size_t cols = std::min(panel_columns<T>, width - j);
    const auto add_tiles = [&](const auto& panel_of) {
      for (std::size_t u = 0; u < units; u += register_rows) {
        multiply_terms(terms.size(), rows, u, std::min(register_rows, units - u), panel_of);
        add_tile(layer, u, j, cols, sum, base);
      }
    };
    if (few && j + cols <= level.whole) {
      add_tiles([&](std::size_t) { return ScatteredPanel<T>{level.in_place.data(), j, cols}; });
    } else if (few && j >= level.whole) {
      add_tiles([&](std::size_t) { return Panel<T>{level.at(0, j), level.copied.width, cols}; });
    } else {
      pack_levels(terms, rows, j, cols);
      add_tiles([&](std::size_t t) { return Panel<T>{levels_.data() + t * rows * cols, cols, cols}; });
    }
  }
}

/// Each term is a chain of its own, so that the bound of its rounding grows with the rows alone.
template <class T>
template <class PanelOf>
void LayerGradient<T>::multiply_terms(std::size_t terms, std::size_t rows, std::size_t unit, std::size_t units,
                                      const PanelOf& panel_of) {
  const auto multiply = [&](std::size_t t, T* to) {
    const Strided<T> deltas{deltas_.data() + (unit * terms + t * register_rows) * rows, 1, register_rows};
    const auto panel = panel_of(t);
    if (units <= register_rows / 4)
      multiply_tile<register_rows / 4>(deltas, panel, rows, to, panel.columns);
    else if (units <= register_rows / 2)
      multiply_tile<register_rows / 2>(deltas, panel, rows, to, panel.columns);
    else
      multiply_tile<register_rows>(deltas, panel, rows, to, panel.columns);
  };
  multiply(0, tile_.data());
  for (std::size_t t = 1; t < terms; ++t) {
    multiply(t, term_.data());
    for (std::size_t i = 0; i < units * panel_of(t).columns; ++i) tile_[i] += term_[i];
  }
}

template <class T>
void LayerGradient<T>::pack_deltas(std::span<const OuterProducts<T>> terms, std::size_t rows, std::size_t height) {
  const std::size_t inner = rows * terms.size();
  for (std::size_t t = 0; t < terms.size(); ++t)
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t u = 0; u < height; u += register_rows)
        std::copy_n(terms[t].delta.row(r) + u, register_rows,
                    deltas_.data() + u * inner + (t * rows + r) * register_rows);
}

template <class T>
void LayerGradient<T>::pack_levels(std::span<const OuterProducts<T>> terms, std::size_t rows, std::size_t first,
                                   std::size_t cols) {
  T* to = levels_.data();
  for (const OuterProducts<T>& term : terms)
    for (std::size_t r = 0; r < rows; ++r, to += cols)
      for (std::size_t j = 0; j < cols; j += packet_size<T>)
        std::copy_n(term.level.at(r, first + j), packet_size<T>, to + j);
}

/// Adds the tile of units `unit`.. and columns `first`..; the column after the weights is the bias, then come
/// zeros.
template <class T>
template <class Sum>
void LayerGradient<T>::add_tile(std::size_t layer, std::size_t unit, std::size_t first, std::size_t cols, Sum& sum,
                                std::size_t base) {
  const std::size_t inputs = shape_.inputs(layer);
  const std::size_t weights = std::min(first + cols, inputs) - std::min(first, inputs);
  const bool bias = shape_.has_bias(layer) && first <= inputs && inputs < first + cols;
  const std::size_t weight_offset = base + shape_.weight_offset(layer),
                    bias_offset = base + shape_.bias_offset(layer);
  for (std::size_t u = unit; u < std::min(unit + register_rows, shape_.outputs(layer)); ++u) {
    const std::span<const T> row(tile_.data() + (u - unit) * cols, cols);
    sum.add(weight_offset + u * inputs + first, row.first(weights));
    if (bias) sum.add(bias_offset + u, row.subspan(inputs - first, 1));
  }
}

template class LayerGradient<float>;
template class LayerGradient<double>;
template void LayerGradient<float>::add(std::size_t, std::span<const OuterProducts<float>>, std::size_t,
                                        LatticeAccumulator&, std::size_t);
template void LayerGradient<float>::add(std::size_t, std::span<const OuterProducts<float>>, std::size_t, PublicSum&,
                                        std::size_t);
template void LayerGradient<double>::add(std::size_t, std::span<const OuterProducts<double>>, std::size_t,
                                         LatticeAccumulator&, std::size_t);

}  // namespace dpmpi
