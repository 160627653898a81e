#pragma once
// The inner loop of all products: a tile of C = A B in registers, with B packed.

#include <cstddef>
#include <cstdint>

// GCC 12 takes its own _mm512_undefined_pd() for an uninitialised variable (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wignored-attributes"  // of vector types as template arguments
#endif
#include <Eigen/Core>

#include "core/aligned.hpp"

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

/// A panel of B, aligned: b(k, j) = at(k)[j]; `columns`: 1, 2 or 3 vectors.
template <class T>
struct Panel {
  const T* values;
  std::size_t step, columns;
  const T* at(std::size_t k) const { return values + k * step; }
};
/// The same of rows that stand anywhere.
template <class T>
struct ScatteredPanel {
  const T* const* rows;
  std::size_t first, columns;
  const T* at(std::size_t k) const { return rows[k] + first; }
};

/// A: a(i, k) = a[i * row + k * step].
template <class T>
struct Strided {
  const T* a;
  std::size_t row, step;
  T operator()(std::size_t i, std::size_t k) const { return a[i * row + k * step]; }
  void before(std::size_t /*k*/) const {}
};
/// a(i, k) = a[row[i] + step[k]]: windows of an image, where they stand.
template <class T>
struct Windowed {
  const T* rows[register_rows];
  const std::uint32_t* step;
  Windowed(const T* a, const std::uint32_t* row, const std::uint32_t* steps) : step(steps) {
    for (std::size_t i = 0; i < register_rows; ++i) rows[i] = a + row[i];
  }
  T operator()(std::size_t i, std::size_t k) const { return rows[i][step[k]]; }
  void before(std::size_t /*k*/) const {}
};
/// a(i, k) of rows that stand anywhere, which come from memory: those of the tile to come are fetched at the pace
/// of the arithmetic.
template <class T>
struct Scattered {
  const T *rows[register_rows], *next[register_rows];
  Scattered(const T* const* these, const T* const* then, std::size_t first) {
    for (std::size_t i = 0; i < register_rows; ++i) rows[i] = these[i] + first, next[i] = then[i] + first;
  }
  T operator()(std::size_t i, std::size_t k) const { return rows[i][k]; }
  void before(std::size_t k) const {
    if (k % (cache_line / sizeof(T)) != 0) return;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < register_rows; ++i) __builtin_prefetch(next[i] + k, 0, 3);
  }
};

/// GCC would otherwise read a vector of B from memory for every row that takes it.
template <class V>
inline void keep_in_register([[maybe_unused]] V& vector) {
#if defined(EIGEN_VECTORIZE_AVX512)
  asm("" : "+v"(vector));
#elif defined(EIGEN_VECTORIZE_AVX)
  asm("" : "+x"(vector));
#endif
}

/// c(i, j) = sum_k a(i, k) b(k, j) for `rows` rows and `vectors` vectors of columns, k ascending; `more`: this is
/// added to what stands in c, as the next members of the same chains. c(i, j) = c[i * stride + j].
template <std::size_t rows, std::size_t vectors, class Left, class Right, class T>
inline void multiply_tile(const Left& a, const Right& b, std::size_t inner, T* c, std::size_t stride, bool more) {
  using namespace Eigen::internal;
  Vector<T> sum[rows][vectors];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v)
      sum[i][v] = more ? ploadu<Vector<T>>(c + i * stride + v * packet_size<T>) : pset1<Vector<T>>(T{0});
  for (std::size_t k = 0; k < inner; ++k) {
    a.before(k);
    const T* from = b.at(k);
    Vector<T> right[vectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) {
      right[v] = pload<Vector<T>>(from + v * packet_size<T>);
      keep_in_register(right[v]);
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < rows; ++i) {
      const Vector<T> left = pset1<Vector<T>>(a(i, k));
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
template <std::size_t rows, class Left, class Right, class T>
inline void multiply_tile(const Left& a, const Right& b, std::size_t inner, T* c, std::size_t stride,
                          bool more = false) {
  if (b.columns == panel_columns<T>) return multiply_tile<rows, 3>(a, b, inner, c, stride, more);
  if (b.columns == 2 * packet_size<T>) return multiply_tile<rows, 2>(a, b, inner, c, stride, more);
  multiply_tile<rows, 1>(a, b, inner, c, stride, more);
}

}  // namespace dpmpi
