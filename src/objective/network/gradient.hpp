#pragma once
// Sums of weight gradients over a micro-batch, rounded to the lattice as they leave the registers; or, where no
// record has a part in them, added to real numbers.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/numbers/lattice.hpp"
#include "objective/network/shape.hpp"

namespace dpmpi {

/// The micro-batch's rows of a product delta^T level that is part of a layer's gradient.
template <class T>
struct OuterProducts {
  const Scratch<T>& delta;   ///< rows x width(l + 1)
  const LevelRows<T> level;  ///< rows x width(l)
};

/// The sum of public gradients: values += factor * each.
struct PublicSum {
  std::span<double> values;
  double factor = 1;
  void add(std::size_t offset, std::span<const float> gradient) {
    for (std::size_t j = 0; j < gradient.size(); ++j)
      values[offset + j] += factor * static_cast<double>(gradient[j]);
  }
};

/// Adds the gradients of a layer [W b], summed over the rows of a micro-batch (each term over its rows in
/// their order, then the terms), to a sum: a LatticeAccumulator, whose records the caller announces with
/// sum.begin(), or a PublicSum.
template <class T>
class LayerGradient {
 public:
  /// `rows`: how many rows all terms of one call have together at most.
  LayerGradient(const MlpShape& shape, std::size_t rows);
  /// The network's parameters begin at coordinate `base` of the sum.
  template <class Sum>
  void add(std::size_t layer, std::span<const OuterProducts<T>> terms, std::size_t rows, Sum& sum,
           std::size_t base = 0);

 private:
  template <class Sum>
  void add_entries(std::size_t layer, const OuterProducts<T>& term, std::size_t rows, Sum& sum, std::size_t base);
  void sort_entries(const SparseRows& level, std::size_t rows, std::size_t width);
  void multiply_entries(const Scratch<T>& delta, std::size_t panel, std::size_t cols);
  void pack_deltas(std::span<const OuterProducts<T>> terms, std::size_t rows, std::size_t height);
  template <class PanelOf>
  void multiply_terms(std::size_t terms, std::size_t rows, std::size_t unit, std::size_t units,
                      const PanelOf& panel_of);
  void pack_levels(std::span<const OuterProducts<T>> terms, std::size_t rows, std::size_t first, std::size_t cols);
  template <class Sum>
  void add_tile(std::size_t layer, std::size_t unit, std::size_t first, std::size_t cols, Sum& sum,
                std::size_t base);

  const MlpShape& shape_;
  AlignedVector<T> deltas_;  ///< by tiles of units, each row after row
  AlignedVector<T> levels_;  ///< a panel of columns, row after row
  AlignedVector<T> tile_;    ///< of the gradient
  AlignedVector<T> term_;    ///< of one term behind the first

  /// The entries of a sparse level, panel after panel of its columns, in each by rows.
  struct Entry {
    std::uint32_t row, column;
    float value;
  };
  std::vector<Entry> entries_;
  std::vector<std::size_t> panel_begin_;  ///< of each panel among them, and the end
  AlignedVector<T> sums_;                 ///< of a panel: all units of a column side by side
};

}  // namespace dpmpi
