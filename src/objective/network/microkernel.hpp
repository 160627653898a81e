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

// A namespace of its own: the kernels of linear models have tile_rows and lanes of other values.
namespace dpmpi::microkernel {

/// The register tile: tile_rows x 3 vectors of sums, 3 vectors of B and one of A fill the vector registers.
#ifdef EIGEN_VECTORIZE_AVX512
inline constexpr std::size_t tile_rows = 8;
#else
inline constexpr std::size_t tile_rows = 4;
#endif
template <class T>
using Vector = typename Eigen::internal::packet_traits<T>::type;
template <class T>
inline constexpr std::size_t lanes = Eigen::internal::packet_traits<T>::size;
template <class T>
inline constexpr std::size_t panel_columns = 3 * lanes<T>;

/// c(i, j) = sum_k a(i, k) b(k, j) for tile_rows rows and `vectors` vectors of columns, k ascending; `more`: this
/// is added to what stands in c, as the next members of the same chains. a(i, k) = a[i * row + k * step]; b(k, j) =
/// b[k * vectors * lanes + j], aligned; c(i, j) = c[i * stride + j].
template <std::size_t vectors, class T>
inline void multiply_tile(const T* a, std::size_t row, std::size_t step, const T* b, std::size_t inner, T* c,
                          std::size_t stride, bool more = false) {
  using namespace Eigen::internal;
  Vector<T> sum[tile_rows][vectors];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < tile_rows; ++i)
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v)
      sum[i][v] = more ? ploadu<Vector<T>>(c + i * stride + v * lanes<T>) : pset1<Vector<T>>(T{0});
  for (std::size_t k = 0; k < inner; ++k, a += step, b += vectors * lanes<T>) {
    Vector<T> right[vectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) right[v] = pload<Vector<T>>(b + v * lanes<T>);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < tile_rows; ++i) {
      const Vector<T> left = pset1<Vector<T>>(a[i * row]);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < vectors; ++v) sum[i][v] = pmadd(left, right[v], sum[i][v]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < tile_rows; ++i)
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) pstoreu(c + i * stride + v * lanes<T>, sum[i][v]);
}

/// The same for a panel of 1, 2 or 3 vectors.
template <class T>
inline void multiply_tile(std::size_t columns, const T* a, std::size_t row, std::size_t step, const T* b,
                          std::size_t inner, T* c, std::size_t stride, bool more = false) {
  if (columns == panel_columns<T>) return multiply_tile<3>(a, row, step, b, inner, c, stride, more);
  if (columns == 2 * lanes<T>) return multiply_tile<2>(a, row, step, b, inner, c, stride, more);
  multiply_tile<1>(a, row, step, b, inner, c, stride, more);
}

}  // namespace dpmpi::microkernel
