#include "objective/math/chain_product.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/errors.hpp"

// GCC 12 takes its own _mm512_undefined_pd() for an uninitialised variable (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wignored-attributes"  // of vector types as template arguments
#endif
#include <Eigen/Core>

namespace dpmpi {
namespace {

using Packet = Eigen::internal::packet_traits<double>::type;
constexpr std::size_t native = Eigen::internal::packet_traits<double>::size;
static_assert(Panels::lanes % native == 0);

/// Rows and vectors of a tile of c that fits the registers beside the operands.
constexpr std::size_t tile_height = native == 8 ? 8 : 4;

template <std::size_t rows, std::size_t vectors>
void chain_tile(const double* a, std::size_t row, std::size_t step, const double* b, std::size_t width,
                std::size_t inner, double* c, std::size_t stride) {
  using namespace Eigen::internal;
  Packet sum[rows][vectors];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) sum[i][v] = ploadu<Packet>(c + i * stride + v * native);
  for (std::size_t k = 0; k < inner; ++k, a += step, b += width) {
    Packet right[vectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) right[v] = ploadu<Packet>(b + v * native);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < rows; ++i) {
      const Packet left = pset1<Packet>(a[i * row]);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < vectors; ++v) sum[i][v] = pmadd(left, right[v], sum[i][v]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) pstoreu(c + i * stride + v * native, sum[i][v]);
}

/// Rows of one group of vectors, as many at a time as the registers hold.
template <std::size_t vectors>
void chain_columns(const LeftFactor& a, std::size_t rows, const double* b, std::size_t width, std::size_t inner,
                   double* c, std::size_t stride) {
  std::size_t i = 0;
  const auto tile = [&]<std::size_t height>(std::integral_constant<std::size_t, height>) {
    for (; i + height <= rows; i += height)
      chain_tile<height, vectors>(a.values + i * a.row, a.row, a.step, b, width, inner, c + i * stride, stride);
  };
  tile(std::integral_constant<std::size_t, tile_height>{});
  if constexpr (tile_height > 4) tile(std::integral_constant<std::size_t, 4>{});
  tile(std::integral_constant<std::size_t, 2>{});
  tile(std::integral_constant<std::size_t, 1>{});
}

void chain_panel(const LeftFactor& a, std::size_t rows, const double* b, std::size_t width, std::size_t inner,
                 double* c, std::size_t stride) {
  std::size_t j = 0;
  for (; j + 3 * native <= width; j += 3 * native) chain_columns<3>(a, rows, b + j, width, inner, c + j, stride);
  for (; j + 2 * native <= width; j += 2 * native) chain_columns<2>(a, rows, b + j, width, inner, c + j, stride);
  for (; j < width; j += native) chain_columns<1>(a, rows, b + j, width, inner, c + j, stride);
}

template <class T>
Packet load_as_double(const T* from) {
  T __attribute__((vector_size(native * sizeof(T)))) values;
  std::memcpy(&values, from, sizeof values);
  const auto wide = __builtin_convertvector(values, double __attribute__((vector_size(native * sizeof(double)))));
  Packet packet;
  std::memcpy(&packet, &wide, sizeof packet);
  return packet;
}

/// to[k * stride + i] = rows[i][first + k] for a square of `native` rows and columns; zeros for a row that is null.
template <class T>
void pack_square(const T* const* rows, std::size_t first, double* to, std::size_t stride) {
  using namespace Eigen::internal;
  PacketBlock<Packet, native> square;
#pragma GCC unroll 8
  for (std::size_t i = 0; i < native; ++i)
    square.packet[i] = rows[i] != nullptr ? load_as_double(rows[i] + first) : pset1<Packet>(0.0);
  ptranspose(square);
#pragma GCC unroll 8
  for (std::size_t k = 0; k < native; ++k) pstoreu(to + k * stride, square.packet[k]);
}

}  // namespace

void Panels::resize(std::size_t inner, std::size_t columns) {
  inner_ = inner;
  columns_ = columns;
  const std::size_t size = inner * padded();
  if (values_.size() < size) values_.resize(size);
}

std::size_t Panels::width(std::size_t first) const { return std::min(widest, padded() - first); }

template <class T>
void Panels::pack_columns(std::size_t first, std::size_t count, const T* from, std::size_t row) {
  double* to = values_.data() + first * inner_;
  const std::size_t filled = width(first);
  for (std::size_t k = 0; k < inner_; ++k, to += filled, from += row) {
    for (std::size_t j = 0; j < count; ++j) to[j] = static_cast<double>(from[j]);
    std::fill(to + count, to + filled, 0.0);
  }
}

template <class T>
void Panels::pack_rows(std::size_t first, std::size_t count, const T* const* rows) {
  const std::size_t filled = width(first), blocks = inner_ / native * native;
  double* const to = values_.data() + first * inner_;
  for (std::size_t j = 0; j < filled; j += native) {
    const T* block[native] = {};
    for (std::size_t i = 0; i < native; ++i) block[i] = j + i < count ? rows[j + i] : nullptr;
    for (std::size_t k = 0; k < blocks; k += native) pack_square(block, k, to + k * filled + j, filled);
    for (std::size_t k = blocks; k < inner_; ++k)
      for (std::size_t i = 0; i < native; ++i)
        to[k * filled + j + i] = block[i] != nullptr ? static_cast<double>(block[i][k]) : 0.0;
  }
}

template void Panels::pack_columns(std::size_t, std::size_t, const double*, std::size_t);
template void Panels::pack_rows(std::size_t, std::size_t, const float* const*);
template void Panels::pack_rows(std::size_t, std::size_t, const double* const*);

void continue_chains(const LeftFactor& a, std::size_t rows, const Panels& b, std::size_t first_k, std::size_t inner,
                     double* c, std::size_t stride, Triangle triangle) {
  verify(first_k + inner <= b.inner() && stride >= b.padded(), "factors of matching shapes");
  for (std::size_t j = 0; j < b.padded(); j += Panels::widest) {
    const std::size_t width = b.width(j);
    const std::size_t height = triangle == Triangle::result ? std::min(rows, j + width) : rows;
    const std::size_t depth = triangle == Triangle::factor ? std::min(inner, j + width) : inner;
    chain_panel(a, height, b.panel(j) + first_k * width, width, depth, c + j, stride);
  }
}

}  // namespace dpmpi
