#pragma once
// Matrix products whose rows do not know of one another (numerics contract N2), for the networks' micro-batches.
//
// Every entry of a product is one chain of fused multiply-adds in the order of the inner index. So its bits depend
// on one row and one column alone, and are the same with AVX2 and AVX-512. (Eigen's own products have the first
// property as long as their choice of kernels does not change; they pack the weights again for every micro-batch
// and allocate for it.)

#include <cstddef>
#include <span>

#include "core/aligned.hpp"
#include "objective/network/shape.hpp"

namespace dpmpi {

/// The right operand B of products A B, stored in panels of a few columns, each panel row after row. Starts as
/// zero.
template <class T>
class PackedMatrix {
 public:
  /// `cols`: a multiple of 16.
  PackedMatrix() = default;  ///< empty
  PackedMatrix(std::size_t inner, std::size_t cols) : inner_(inner), cols_(cols), values_(inner * cols, T{0}) {}

  std::size_t cols() const { return cols_; }
  bool empty() const { return values_.empty(); }
  /// B(k, j) = source[j * inner + k] for k < inner, j < cols: the transpose of a row-major cols x inner matrix.
  void set_transposed(const float* source, std::size_t inner, std::size_t cols);
  /// Of the same, the entries that `part` holds: source[first], source[first + 1], ...
  void set_transposed_part(std::size_t first, std::span<const float> part, std::size_t inner);
  /// B(k, j) = source[k * cols + j] for k < inner, j < cols.
  void set(const float* source, std::size_t inner, std::size_t cols);
  /// B(k, first + j) = source[j] for j < cols.
  template <class S>
  void set_row(std::size_t k, const S* source, std::size_t cols, std::size_t first = 0);

  /// to = A B for `rows` rows (a multiple of 16) of A, `a_stride` apart. `to`: rows x cols(), `to_stride` apart.
  void multiply(const T* a, std::size_t a_stride, std::size_t rows, T* to, std::size_t to_stride) const;
  void multiply(const LevelRows<T>& a, std::size_t rows, Scratch<T>& to) const;

 private:
  void multiply_entries(const SparseRows& a, std::size_t rows, Scratch<T>& to) const;
  template <class RowsOf>
  void multiply_part(std::size_t begin, std::size_t end, std::size_t rows, T* to, std::size_t to_stride,
                     const RowsOf& rows_of) const;
  std::size_t inner_ = 0, cols_ = 0;
  AlignedVector<T> values_;
};

}  // namespace dpmpi
