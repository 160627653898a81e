#pragma once
// The matrix products of a multilayer perceptron, on zero-padded row-major scratch.

#include <cstddef>

namespace dpmpi {

/// A row-major matrix inside scratch memory.
template <class T>
struct MatrixView {
  T* data;
  std::size_t rows, cols, stride;
};

/// Columns of a product at once, so that Eigen's packed operands stay below its 128 KB limit for the stack (above
/// it every product calls malloc). A multiple of every register tile (48, 24, 12, 6 columns).
template <class T>
inline constexpr std::size_t columns_at_once = 768 / sizeof(T);

/// to = from * matrix^T. Rows and columns of all operands: multiples of 16.
template <class T>
void multiply_transposed(MatrixView<const T> from, MatrixView<const T> matrix, MatrixView<T> to);

/// to = from * matrix.
template <class T>
void multiply(MatrixView<const T> from, MatrixView<const T> matrix, MatrixView<T> to);

/// to = left^T * right, or to += left^T * right. `to` has at most columns_at_once columns.
template <class T>
void multiply_outer(MatrixView<const T> left, MatrixView<const T> right, bool accumulate, MatrixView<T> to);

}  // namespace dpmpi
