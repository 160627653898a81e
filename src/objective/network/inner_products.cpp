#include "objective/network/inner_products.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "objective/math/lanes.hpp"
#include "objective/network/microkernel.hpp"

namespace dpmpi {
namespace {

// A square of pairs of rows at once, so that a row is loaded for several products; its sums of 16 lanes and the
// rows fill the vector registers.
constexpr std::size_t square_rows = register_rows / 2, vectors = lanes::width / packet_size<float>;
using RowPointers = std::array<const float*, square_rows>;

/// The sum of the lanes, in the order that a square has.
float sum_of(const float* lane) {
  lanes::Floats all[lanes::parts];
  for (std::size_t v = 0; v < lanes::parts; ++v) all[v] = lanes::load(lane + v * lanes::native);
  return lanes::sum(all);
}

struct SquareOfSums {
  Vector<float> sum[square_rows][square_rows][vectors];

  SquareOfSums() {
    for (auto& row : sum)
      for (auto& pair : row)
        for (auto& lane : pair) lane = Eigen::internal::pset1<Vector<float>>(0.0F);
  }

  void add(const RowPointers& a, const RowPointers& b, std::size_t width) {
    using namespace Eigen::internal;
    for (std::size_t j = 0; j < width; j += packet_size<float> * vectors)
#pragma GCC unroll 4
      for (std::size_t v = 0; v < vectors; ++v) {
        const std::size_t at = j + v * packet_size<float>;
        Vector<float> right[square_rows];
#pragma GCC unroll 4
        for (std::size_t k = 0; k < square_rows; ++k) right[k] = pload<Vector<float>>(b[k] + at);
#pragma GCC unroll 4
        for (std::size_t i = 0; i < square_rows; ++i) {
          const Vector<float> left = pload<Vector<float>>(a[i] + at);
#pragma GCC unroll 4
          for (std::size_t k = 0; k < square_rows; ++k) sum[i][k][v] = pmadd(left, right[k], sum[i][k][v]);
        }
      }
  }

  float total(std::size_t i, std::size_t k) const {
    alignas(64) float lane[lanes::width];
    for (std::size_t v = 0; v < vectors; ++v) Eigen::internal::pstore(lane + v * packet_size<float>, sum[i][k][v]);
    return sum_of(lane);
  }
};

/// As a lane of pmadd.
float multiply_and_add(float a, float b, float sum) {
#ifdef EIGEN_VECTORIZE_FMA
  return std::fma(a, b, sum);
#else
  return a * b + sum;
#endif
}

/// The chains of two rows, without the members that are 0.
float product_of_entries(const SparseRows& rows, std::size_t a, std::size_t b) {
  alignas(64) float lane[lanes::width] = {};
  const std::span<const std::uint32_t> left = rows.columns(a), right = rows.columns(b);
  for (std::size_t i = 0, k = 0; i < left.size() && k < right.size();) {
    if (left[i] == right[k]) {
      float& sum = lane[left[i] % lanes::width];
      sum = multiply_and_add(rows.values(a)[i++], rows.values(b)[k++], sum);
    } else {
      left[i] < right[k] ? ++i : ++k;
    }
  }
  return sum_of(lane);
}

}  // namespace

void inner_products(const LevelRows<float>& rows, std::size_t width, std::size_t first, std::size_t count,
                    std::span<float> out) {
  if (rows.entries != nullptr) {
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        out[i * count + j] = product_of_entries(*rows.entries, first + i, first + j);
    return;
  }
  const auto pointers = [&](std::size_t row, std::size_t column) {  // behind the last row: that one again
    RowPointers all;
    for (std::size_t i = 0; i < square_rows; ++i) all[i] = rows.at(first + std::min(row + i, count - 1), column);
    return all;
  };
  for (std::size_t i = 0; i < count; i += square_rows)
    for (std::size_t j = 0; j <= i; j += square_rows) {
      SquareOfSums square;
      if (rows.whole > 0) square.add(pointers(i, 0), pointers(j, 0), rows.whole);
      if (rows.whole < width) square.add(pointers(i, rows.whole), pointers(j, rows.whole), width - rows.whole);
      for (std::size_t r = i; r < std::min(i + square_rows, count); ++r)
        for (std::size_t c = j; c < std::min(j + square_rows, count); ++c)
          out[r * count + c] = square.total(r - i, c - j);
    }
}

// In each lane a chain of width / 16 products and sums, of one rounding each where they are fused and of two in
// the last product elsewhere; then four sums.
double inner_product_error(std::size_t width) {
  const double roundings = static_cast<double>(width / lanes::width + 5) * 0x1p-24;
  return roundings / (1 - roundings);
}

}  // namespace dpmpi
