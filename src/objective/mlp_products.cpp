// Why rows are invariant (N2). Eigen computes the transposed column-major product in groups of 4 of our rows. How
// it sums over the inner dimension depends on that dimension and on the column's place, but not on the row or the
// number of rows: the inner block length follows from the inner dimension and the cache sizes set below, and column
// blocks start at multiples of the register tile. Its other code paths, for vectors and tiny products, are never
// met with sizes that are multiples of 16.
#include "dpmpi/objective/mlp_products.hpp"

#include <algorithm>

// GCC 12 takes its own _mm512_undefined_pd() for an uninitialised variable (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <Eigen/Core>

namespace dpmpi {
namespace {

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

template <class T>
Eigen::Map<const RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>> eigen(MatrixView<const T> m) {
  return {m.data, index(m.rows), index(m.cols), Eigen::OuterStride<>(index(m.stride))};
}
template <class T>
Eigen::Map<RowMajor<T>, Eigen::Unaligned, Eigen::OuterStride<>> eigen(MatrixView<T> m) {
  return {m.data, index(m.rows), index(m.cols), Eigen::OuterStride<>(index(m.stride))};
}

/// Block sizes fix the order of summation, so they must not depend on the machine.
void fix_block_sizes() {
  static const bool once = (Eigen::setCpuCacheSizes(32 << 10, 1 << 20, 16 << 20), true);
  static_cast<void>(once);
}

}  // namespace

template <class T>
void multiply_transposed(MatrixView<const T> from, MatrixView<const T> matrix, MatrixView<T> to) {
  fix_block_sizes();
  const Eigen::Index step = index(columns_at_once<T>), cols = index(to.cols);
  for (Eigen::Index j = 0; j < cols; j += step) {
    const Eigen::Index n = std::min(step, cols - j);
    eigen(to).middleCols(j, n).noalias() = eigen(from) * eigen(matrix).middleRows(j, n).transpose();
  }
}

template <class T>
void multiply(MatrixView<const T> from, MatrixView<const T> matrix, MatrixView<T> to) {
  fix_block_sizes();
  const Eigen::Index step = index(columns_at_once<T>), cols = index(to.cols);
  for (Eigen::Index j = 0; j < cols; j += step) {
    const Eigen::Index n = std::min(step, cols - j);
    eigen(to).middleCols(j, n).noalias() = eigen(from) * eigen(matrix).middleCols(j, n);
  }
}

template <class T>
void multiply_outer(MatrixView<const T> left, MatrixView<const T> right, bool accumulate, MatrixView<T> to) {
  fix_block_sizes();
  if (accumulate)
    eigen(to).noalias() += eigen(left).transpose() * eigen(right);
  else
    eigen(to).noalias() = eigen(left).transpose() * eigen(right);
}

template void multiply_transposed(MatrixView<const float>, MatrixView<const float>, MatrixView<float>);
template void multiply_transposed(MatrixView<const double>, MatrixView<const double>, MatrixView<double>);
template void multiply(MatrixView<const float>, MatrixView<const float>, MatrixView<float>);
template void multiply(MatrixView<const double>, MatrixView<const double>, MatrixView<double>);
template void multiply_outer(MatrixView<const float>, MatrixView<const float>, bool, MatrixView<float>);
template void multiply_outer(MatrixView<const double>, MatrixView<const double>, bool, MatrixView<double>);

}  // namespace dpmpi
