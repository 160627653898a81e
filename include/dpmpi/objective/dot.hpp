#pragma once
// Dot products with one fixed order of summation, whatever the instruction set.

#include <cstddef>

namespace dpmpi {

/// <a, b>, summed in 16 interleaved double sums.
template <class T>
inline double dot(const T* a, const T* b, std::size_t width) {
  constexpr std::size_t lanes = 16;
  double sums[lanes] = {};
  std::size_t j = 0;
  for (; j + lanes <= width; j += lanes)
    for (std::size_t k = 0; k < lanes; ++k)
      sums[k] += static_cast<double>(a[j + k]) * static_cast<double>(b[j + k]);
  for (std::size_t k = 0; j + k < width; ++k)
    sums[k] += static_cast<double>(a[j + k]) * static_cast<double>(b[j + k]);
  for (std::size_t half = lanes / 2; half > 0; half /= 2)
    for (std::size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  return sums[0];
}

/// |a|^2, likewise.
template <class T>
inline double squared_norm(const T* a, std::size_t width) {
  return dot(a, a, width);
}

/// to += factor * from.
inline void add_scaled(double factor, const double* __restrict from, double* __restrict to, std::size_t width) {
  for (std::size_t j = 0; j < width; ++j) to[j] += factor * from[j];
}

}  // namespace dpmpi
