#include "objective/network/products.hpp"

#include <algorithm>
#include <type_traits>

#include "objective/network/microkernel.hpp"

namespace dpmpi {

namespace {

/// Calls visit(first column, columns, offset of the panel's values) for every panel of an inner x cols matrix.
template <class T, class Visit>
void for_each_panel(std::size_t inner, std::size_t cols, Visit visit) {
  for (std::size_t j = 0; j < cols; j += panel_columns<T>)
    visit(j, std::min(panel_columns<T>, cols - j), inner * j);
}

/// to[k * stride + c] = from[c * inner + k] for k < inner and c < count <= packet_size.
template <class T>
void transpose_strip(const float* from, std::size_t inner, std::size_t count, T* to, std::size_t stride) {
  std::size_t k = 0;
  if constexpr (std::is_same_v<T, float>) {
    using namespace Eigen::internal;
    PacketBlock<Vector<T>, static_cast<int>(packet_size<T>)> block;
    for (; count == packet_size<T> && k + packet_size<T> <= inner; k += packet_size<T>) {
#pragma GCC unroll 16
      for (std::size_t c = 0; c < packet_size<T>; ++c) block.packet[c] = ploadu<Vector<T>>(from + c * inner + k);
      ptranspose(block);
#pragma GCC unroll 16
      for (std::size_t c = 0; c < packet_size<T>; ++c) pstoreu(to + (k + c) * stride, block.packet[c]);
    }
  }
  for (; k < inner; ++k)
    for (std::size_t c = 0; c < count; ++c) to[k * stride + c] = from[c * inner + k];
}

/// to[j] = sum_e values[e] b(columns[e], j) for the columns of a panel: the chains of a row, without the members
/// that are 0.
template <std::size_t vectors, class T>
void multiply_row(std::span<const std::uint32_t> columns, const float* values, const Panel<T>& b, T* to) {
  using namespace Eigen::internal;
  Vector<T> sum[vectors];
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; ++v) sum[v] = pset1<Vector<T>>(T{0});
  for (std::size_t e = 0; e < columns.size(); ++e) {
    const T* from = b.at(columns[e]);
    const Vector<T> left = pset1<Vector<T>>(static_cast<T>(values[e]));
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v)
      sum[v] = pmadd(left, pload<Vector<T>>(from + v * packet_size<T>), sum[v]);
  }
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors; ++v) pstoreu(to + v * packet_size<T>, sum[v]);
}

}  // namespace

template <class T>
void PackedMatrix<T>::set_transposed(const float* source, std::size_t inner, std::size_t cols) {
  for_each_panel<T>(inner_, cols_, [&](std::size_t j, std::size_t n, std::size_t offset) {
    for (std::size_t c = 0; c < n && j + c < cols; c += packet_size<T>)
      transpose_strip(source + (j + c) * inner, inner, std::min(packet_size<T>, cols - j - c),
                      values_.data() + offset + c, n);
  });
}

template <class T>
void PackedMatrix<T>::set_transposed_part(std::size_t first, std::span<const float> part, std::size_t inner) {
  for (std::size_t at = 0; at < part.size();) {
    const std::size_t j = (first + at) / inner, k = (first + at) % inner;
    const std::size_t panel = j / panel_columns<T> * panel_columns<T>;
    const std::size_t columns = std::min(panel_columns<T>, cols_ - panel);
    const std::size_t run = std::min(inner - k, part.size() - at);
    T* to = values_.data() + inner_ * panel + k * columns + (j - panel);
    for (std::size_t i = 0; i < run; ++i) to[i * columns] = part[at + i];
    at += run;
  }
}

template <class T>
void PackedMatrix<T>::set(const float* source, std::size_t inner, std::size_t cols) {
  for (std::size_t k = 0; k < inner; ++k) set_row(k, source + k * cols, cols);
}

template <class T>
template <class S>
void PackedMatrix<T>::set_row(std::size_t k, const S* source, std::size_t cols, std::size_t first) {
  for_each_panel<T>(inner_, cols_, [&](std::size_t j, std::size_t n, std::size_t offset) {
    const std::size_t from = std::max(j, first), to = std::min(j + n, first + cols);
    if (from < to)
      std::copy(source + (from - first), source + (to - first), values_.data() + offset + k * n + (from - j));
  });
}

/// The members begin .. end - 1 of all chains: those from 0 begin them. rows_of(r, k, first): the left operand of
/// the tile of rows r.., from member k; `first`: no panel was multiplied by it before. In pieces, so that a piece
/// of both operands stays in the cache; it changes no bit.
template <class T>
template <class RowsOf>
void PackedMatrix<T>::multiply_part(std::size_t begin, std::size_t end, std::size_t rows, T* to,
                                    std::size_t to_stride, const RowsOf& rows_of) const {
  constexpr std::size_t piece = 512;
  for (std::size_t k = begin; k == 0 || k < end; k += piece)
    for_each_panel<T>(inner_, cols_, [&](std::size_t j, std::size_t n, std::size_t offset) {
      for (std::size_t r = 0; r < rows; r += register_rows)
        multiply_tile<register_rows>(rows_of(r, k, j == 0), Panel<T>{values_.data() + offset + k * n, n, n},
                                     std::min(piece, end - k), to + r * to_stride + j, to_stride, k > 0);
    });
}

template <class T>
void PackedMatrix<T>::multiply(const T* a, std::size_t a_stride, std::size_t rows, T* to,
                               std::size_t to_stride) const {
  multiply_part(0, inner_, rows, to, to_stride, [&](std::size_t r, std::size_t k, bool) {
    return Strided<T>{a + r * a_stride + k, a_stride, 1};
  });
}

/// Panel by panel, which stays in the cache for all rows.
template <class T>
void PackedMatrix<T>::multiply_entries(const SparseRows& a, std::size_t rows, Scratch<T>& to) const {
  for_each_panel<T>(inner_, cols_, [&](std::size_t j, std::size_t n, std::size_t offset) {
    const Panel<T> panel{values_.data() + offset, n, n};
    const auto multiply = n == panel_columns<T>     ? multiply_row<3, T>
                          : n == 2 * packet_size<T> ? multiply_row<2, T>
                                                    : multiply_row<1, T>;
    for (std::size_t r = 0; r < rows; ++r) multiply(a.columns(r), a.values(r), panel, to.row(r) + j);
  });
}

template <class T>
void PackedMatrix<T>::multiply(const LevelRows<T>& a, std::size_t rows, Scratch<T>& to) const {
  if (a.entries != nullptr) return multiply_entries(*a.entries, rows, to);
  if (a.whole > 0)
    multiply_part(0, a.whole, rows, to.row(0), to.width, [&](std::size_t r, std::size_t k, bool first) {
      const std::size_t next = first && r + register_rows < rows ? r + register_rows : r;
      return Scattered<T>(&a.in_place[r], &a.in_place[next], k);
    });
  multiply_part(a.whole, inner_, rows, to.row(0), to.width, [&](std::size_t r, std::size_t k, bool) {
    return Strided<T>{a.at(r, k), a.copied.width, 1};
  });
}

template class PackedMatrix<float>;
template class PackedMatrix<double>;
template void PackedMatrix<float>::set_row(std::size_t, const float*, std::size_t, std::size_t);
template void PackedMatrix<double>::set_row(std::size_t, const float*, std::size_t, std::size_t);
template void PackedMatrix<double>::set_row(std::size_t, const double*, std::size_t, std::size_t);

}  // namespace dpmpi
