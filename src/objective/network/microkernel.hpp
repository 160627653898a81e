#pragma once
// The inner loop of all products: a tile of C = A B in registers, with B packed.

#include <cstddef>

// GCC 12 takes its own _mm512_undefined_pd() for an uninitialised variable (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wignored-attributes"  // of vector types as template arguments
#endif
#include <Eigen/Core>

namespace dpmpi {

/// The register tile: register_rows x 3 vectors of sums, 3 vectors of B and one of A fill the vector registers.
#ifdef EIGEN_VECTORIZE_AVX512
inline constexpr std::size_t register_rows = 8;
#else
inline constexpr std::size_t register_rows = 4;
#endif
template <class T>
using Vector = typename Eigen::internal::packet_traits<T>::type;
template <class T>
inline constexpr std::size_t packet_size = Eigen::internal::packet_traits<T>::size;
template <class T>
inline constexpr std::size_t panel_columns = 3 * packet_size<T>;

/// A panel of B: b(k, j) = values[k * step + j], aligned; `columns`: 1, 2 or 3 vectors.
template <class T>
struct Panel {
  const T* values;
  std::size_t step, columns;
};

/// c(i, j) = sum_k a(i, k) b(k, j) for `rows` rows and `vectors` vectors of columns, k ascending; `more`: this is
/// added to what stands in c, as the next members of the same chains. a(i, k) = a[i * row + k * step]; c(i, j) =
/// c[i * stride + j].
template <std::size_t rows, std::size_t vectors, class T>
inline void multiply_tile(const T* a, std::size_t row, std::size_t step, const Panel<T>& panel, std::size_t inner,
                          T* c, std::size_t stride, bool more) {
  using namespace Eigen::internal;
  Vector<T> sum[rows][vectors];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v)
      sum[i][v] = more ? ploadu<Vector<T>>(c + i * stride + v * packet_size<T>) : pset1<Vector<T>>(T{0});
  const T* b = panel.values;
  for (std::size_t k = 0; k < inner; ++k, a += step, b += panel.step) {
    Vector<T> right[vectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) right[v] = pload<Vector<T>>(b + v * packet_size<T>);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < rows; ++i) {
      const Vector<T> left = pset1<Vector<T>>(a[i * row]);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < vectors; ++v) sum[i][v] = pmadd(left, right[v], sum[i][v]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) pstoreu(c + i * stride + v * packet_size<T>, sum[i][v]);
}

/// The same for a panel of any width.
template <std::size_t rows, class T>
inline void multiply_tile(const T* a, std::size_t row, std::size_t step, const Panel<T>& panel, std::size_t inner,
                          T* c, std::size_t stride, bool more = false) {
  if (panel.columns == panel_columns<T>) return multiply_tile<rows, 3>(a, row, step, panel, inner, c, stride, more);
  if (panel.columns == 2 * packet_size<T>)
    return multiply_tile<rows, 2>(a, row, step, panel, inner, c, stride, more);
  multiply_tile<rows, 1>(a, row, step, panel, inner, c, stride, more);
}

}  // namespace dpmpi
