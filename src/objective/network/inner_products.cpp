#include "objective/network/inner_products.hpp"

#include <algorithm>
#include <array>

#include "objective/math/lanes.hpp"
#include "objective/network/microkernel.hpp"

namespace dpmpi {
namespace {

// A square of pairs of rows at once, so that a row is loaded for several products; its sums of 16 lanes and the
// rows fill the vector registers.
constexpr std::size_t square_rows = register_rows / 2, vectors = lanes::width / packet_size<float>;
using RowPointers = std::array<const float*, square_rows>;

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
    lanes::Floats all[lanes::parts];
    for (std::size_t v = 0; v < lanes::parts; ++v) all[v] = lanes::load(lane + v * lanes::native);
    return lanes::sum(all);
  }
};

}  // namespace

void inner_products(const LevelRows<float>& rows, std::size_t width, std::size_t first, std::size_t count,
                    std::span<float> out) {
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
