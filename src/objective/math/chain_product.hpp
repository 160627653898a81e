#pragma once
// Products in which every entry is one chain of fused multiply-adds in index order, so that its bits do not depend
// on how the index range, the rows or the columns are cut into pieces, nor on the instruction set.

#include <cstddef>
#include <span>

#include "core/aligned.hpp"

namespace dpmpi {

/// The right factor B (inner x columns), packed so that the lanes of a vector are columns: panels of up to 24
/// columns, in which the entries of one k stand side by side, with zeros behind the last column.
class Panels {
 public:
  static constexpr std::size_t lanes = 8, widest = 3 * lanes;

  /// Prepares for B of this size; allocates only if it is larger than all before.
  void resize(std::size_t inner, std::size_t columns);
  std::size_t inner() const { return inner_; }
  std::size_t columns() const { return columns_; }
  std::size_t padded() const { return round_up(columns_, lanes); }
  /// B(k, first + j) = from[k * row + j] for j < count <= widest; `first` is a multiple of `widest`, and count ==
  /// widest unless these are the last columns.
  template <class T>
  void pack_columns(std::size_t first, std::size_t count, const T* from, std::size_t row);
  /// B(k, first + j) = rows[j][k] likewise: the columns are rows in memory.
  template <class T>
  void pack_rows(std::size_t first, std::size_t count, const T* const* rows);

  std::size_t width(std::size_t first) const;  ///< of the panel that begins at column `first`
  const double* panel(std::size_t first) const { return values_.data() + first * inner_; }

 private:
  std::size_t inner_ = 0, columns_ = 0;
  AlignedVector<double> values_;
};

/// Entry (i, k) is values[i * row + k * step].
struct LeftFactor {
  const double* values = nullptr;
  std::size_t row = 0, step = 1;
};

/// What of a product is wanted, or known to be zero.
enum class Triangle {
  none,
  result,  ///< c(i, j) for i > j may be left out
  factor   ///< B(k, j) = 0 for k > j (with first_k = 0)
};

/// c(i, j) = fma(a(i, k), B(first_k + k, j), c(i, j)) for k = 0 .. inner - 1, in this order, for all rows i < rows
/// and columns j < b.padded(); c(i, j) = c[i * stride + j].
void continue_chains(const LeftFactor& a, std::size_t rows, const Panels& b, std::size_t first_k, std::size_t inner,
                     double* c, std::size_t stride, Triangle triangle = Triangle::none);

}  // namespace dpmpi
