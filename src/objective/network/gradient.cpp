#include "objective/network/gradient.hpp"

#include <algorithm>
#include <numeric>

#include "core/errors.hpp"
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

/// Columns without entries are not touched: what they add is 0.
template <class T>
template <class Sum>
void LayerGradient<T>::add_entries(std::size_t layer, const OuterProducts<T>& term, std::size_t rows, Sum& sum,
                                   std::size_t base) {
  const std::size_t width = shape_.width(layer), height = shape_.width(layer + 1), units = shape_.outputs(layer);
  sort_entries(*term.level.entries, rows, width);
  sums_.resize(panel_columns<T> * height);
  for (std::size_t p = 0; p + 1 < panel_begin_.size(); ++p) {
    if (panel_begin_[p] == panel_begin_[p + 1]) continue;
    const std::size_t first = p * panel_columns<T>, cols = std::min(panel_columns<T>, width - first);
    multiply_entries(term.delta, p, cols);
    for (std::size_t u = 0; u < units; u += register_rows) {
      for (std::size_t i = 0; i < std::min(register_rows, units - u); ++i)
        for (std::size_t c = 0; c < cols; ++c) tile_[i * cols + c] = sums_[c * height + u + i];
      add_tile(layer, u, first, cols, sum, base);
    }
  }
}

/// entries_, panel by panel, from those of the rows, with room for as many as ever came.
template <class T>
void LayerGradient<T>::sort_entries(const SparseRows& level, std::size_t rows, std::size_t width) {
  panel_begin_.assign((width + panel_columns<T> - 1) / panel_columns<T> + 1, 0);
  for (std::size_t r = 0; r < rows; ++r)
    for (const std::uint32_t column : level.columns(r)) ++panel_begin_[column / panel_columns<T> + 1];
  std::partial_sum(panel_begin_.begin(), panel_begin_.end(), panel_begin_.begin());
  entries_.resize(panel_begin_.back());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t e = level.begin[r]; e < level.end[r]; ++e)
      entries_[panel_begin_[level.column[e] / panel_columns<T>]++] = {static_cast<std::uint32_t>(r),
                                                                      level.column[e], level.value[e]};
  std::copy_backward(panel_begin_.begin(), panel_begin_.end() - 1, panel_begin_.end());
  panel_begin_[0] = 0;
}

/// sums_ of a panel: for every unit and column the chain of multiply_terms(), without the members that are 0.
template <class T>
void LayerGradient<T>::multiply_entries(const Scratch<T>& delta, std::size_t panel, std::size_t cols) {
  using namespace Eigen::internal;
  const std::size_t height = delta.width;
  std::fill_n(sums_.begin(), cols * height, T{0});
  for (std::size_t k = panel_begin_[panel]; k < panel_begin_[panel + 1]; ++k) {
    const Entry& entry = entries_[k];
    const T* const from = delta.row(entry.row);
    T* const to = sums_.data() + (entry.column - panel * panel_columns<T>)*height;
    const Vector<T> value = pset1<Vector<T>>(static_cast<T>(entry.value));
    for (std::size_t u = 0; u < height; u += packet_size<T>)
      pstore(to + u, pmadd(pload<Vector<T>>(from + u), value, pload<Vector<T>>(to + u)));
  }
}

template <class T>
template <class Sum>
void LayerGradient<T>::add(std::size_t layer, std::span<const OuterProducts<T>> terms, std::size_t rows, Sum& sum,
                           std::size_t base) {
  const std::size_t width = shape_.width(layer), height = shape_.width(layer + 1), units = shape_.outputs(layer);
  const LevelRows<T>& level = terms[0].level;
  if (level.entries != nullptr) {
    verify(terms.size() == 1, "a sparse level is that of one term");
    return add_entries(layer, terms[0], rows, sum, base);
  }
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
