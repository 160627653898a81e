#pragma once
// Dot products with one fixed order of summation, whatever the instruction set.

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
    Eight left, right;
    for (std::size_t j = 0; j + 2 * lanes <= width; j += 2 * lanes) {
      for (std::size_t v = 0; v < 2; ++v) {
        load(a + j + v * lanes, left);
        load(b + j + v * lanes, right);
        sum_[v] += left * right;
      }
    }
  }
  /// The sum with the last pieces, of any width.
  template <class T>
  double total(const T* a, const T* b, std::size_t width) {
    add(a, b, width);
    double sums[2 * lanes];
    std::memcpy(sums, sum_, sizeof sums);
    const std::size_t j = width / (2 * lanes) * (2 * lanes);
    for (std::size_t k = 0; j + k < width; ++k)
      sums[k] += static_cast<double>(a[j + k]) * static_cast<double>(b[j + k]);
    return by_halves(sums);
  }
  /// |x|^2 of the entries of a vector that are not 0, columns ascending: the bits of the whole vector.
  static double square_of_entries(std::span<const std::uint32_t> column, const float* value) {
    double sums[2 * lanes] = {};
    for (std::size_t e = 0; e < column.size(); ++e)
      sums[column[e] % (2 * lanes)] += static_cast<double>(value[e]) * static_cast<double>(value[e]);
    return by_halves(sums);
  }

 private:
  static constexpr std::size_t lanes = 8;
  static double by_halves(double (&sums)[2 * lanes]) {
    for (std::size_t half = lanes; half > 0; half /= 2)
      for (std::size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
    return sums[0];
  }
  Eight sum_[2] = {};
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
