#pragma once
// Dot products with one fixed order of summation, whatever the instruction set.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace dpmpi {

// Vectors of 8 numbers, written out: left to itself GCC turns the loop of a dot product into shuffles.
using Eight = double __attribute__((vector_size(64)));
inline void load(const double* from, Eight& to) { std::memcpy(&to, from, sizeof to); }
inline void load(const float* from, Eight& to) {
  float __attribute__((vector_size(32))) narrow;
  std::memcpy(&narrow, from, sizeof narrow);
  to = __builtin_convertvector(narrow, Eight);
}

/// Products summed in 16 interleaved double sums, then by halves.
class InterleavedSum {
 public:
  /// Adds the products of two vectors, or of pieces of them whose `width` is a multiple of 16.
  template <class T>
  void add(const T* a, const T* b, std::size_t width) {
    std::array<Lanes, vectors> sum = sum_;
    for (std::size_t j = 0; j + sums <= width; j += sums)
#pragma GCC unroll 8
      for (std::size_t v = 0; v < vectors; ++v) sum[v] += widened(a + j + v * lanes) * widened(b + j + v * lanes);
    sum_ = sum;
  }
  /// The sum with the last pieces, of any width.
  template <class T>
  double total(const T* a, const T* b, std::size_t width) {
    add(a, b, width);
    double sum[sums];
    std::memcpy(sum, sum_.data(), sizeof sum);
    const std::size_t j = width / sums * sums;
    for (std::size_t k = 0; j + k < width; ++k)
      sum[k] += static_cast<double>(a[j + k]) * static_cast<double>(b[j + k]);
    return by_halves(sum);
  }
  /// |x|^2 of the entries of a vector that are not 0, columns ascending: the bits of the whole vector.
  static double square_of_entries(std::span<const std::uint32_t> column, const float* value) {
    double sum[sums] = {};
    for (std::size_t e = 0; e < column.size(); ++e)
      sum[column[e] % sums] += static_cast<double>(value[e]) * static_cast<double>(value[e]);
    return by_halves(sum);
  }

 private:
  static constexpr std::size_t sums = 16;
  // As wide as the registers: GCC takes wider vectors through memory. The sums are the same ones whatever the
  // width.
#if defined(__AVX512F__)
  static constexpr std::size_t lanes = 8;
#elif defined(__AVX__)
  static constexpr std::size_t lanes = 4;
#else
  static constexpr std::size_t lanes = 2;
#endif
  static constexpr std::size_t vectors = sums / lanes;
  using Lanes = double __attribute__((vector_size(lanes * sizeof(double))));

  static Lanes widened(const double* from) {
    Lanes to;
    std::memcpy(&to, from, sizeof to);
    return to;
  }
  static Lanes widened(const float* from) {
    float __attribute__((vector_size(lanes * sizeof(float)))) narrow;
    std::memcpy(&narrow, from, sizeof narrow);
    return __builtin_convertvector(narrow, Lanes);
  }
  static double by_halves(double (&sum)[sums]) {
    for (std::size_t half = sums / 2; half > 0; half /= 2)
      for (std::size_t k = 0; k < half; ++k) sum[k] += sum[k + half];
    return sum[0];
  }
  std::array<Lanes, vectors> sum_ = {};
};

/// <a, b>.
template <class T>
inline double dot(const T* a, const T* b, std::size_t width) {
  return InterleavedSum().total(a, b, width);
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
