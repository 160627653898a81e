#pragma once
// Sums of weight gradients over a micro-batch, rounded to the lattice as they leave the registers.

#include <cstddef>
#include <span>

#include "dpmpi/core/lattice.hpp"
#include "dpmpi/objective/mlp_shape.hpp"

namespace dpmpi {

/// The micro-batch's rows of a product delta^T level that is part of a layer's gradient.
template <class T>
struct OuterProducts {
  const Scratch<T>& delta;  ///< rows x width(l + 1)
  const Scratch<T>& level;  ///< rows x width(l)
};

/// Adds the gradients of a layer [W b], summed over the rows of a micro-batch (in the order of the terms, then
/// rows), to a lattice sum. The caller announces the records with sum.begin().
template <class T>
class LayerGradient {
 public:
  /// `rows`: how many rows all terms of one call have together at most.
  LayerGradient(const MlpShape& shape, std::size_t rows);
  /// The network's parameters begin at coordinate `base` of the sum.
  void add(std::size_t layer, std::span<const OuterProducts<T>> terms, std::size_t rows, LatticeAccumulator& sum,
           std::size_t base = 0);

 private:
  void pack_deltas(std::span<const OuterProducts<T>> terms, std::size_t rows, std::size_t height);
  void pack_levels(std::span<const OuterProducts<T>> terms, std::size_t rows, std::size_t first, std::size_t cols);
  void round_tile(std::size_t layer, std::size_t unit, std::size_t first, std::size_t cols, LatticeAccumulator& sum,
                  std::size_t base);

  const MlpShape& shape_;
  AlignedVector<T> deltas_;  ///< by tiles of units, each row after row
  AlignedVector<T> levels_;  ///< a panel of columns, row after row
  AlignedVector<T> tile_;
};

}  // namespace dpmpi
