#include "dpmpi/objective/mlp_products.hpp"

#include <algorithm>

#include "mlp_microkernel.hpp"

namespace dpmpi {
namespace {

/// Calls visit(first column, columns, offset of the panel's values) for every panel of an inner x cols matrix.
template <class T, class Visit>
void for_each_panel(std::size_t inner, std::size_t cols, Visit visit) {
  for (std::size_t j = 0; j < cols; j += panel_columns<T>)
    visit(j, std::min(panel_columns<T>, cols - j), inner * j);
}

}  // namespace

template <class T>
void PackedMatrix<T>::set_transposed(const float* source, std::size_t inner, std::size_t cols) {
  constexpr std::size_t block = 16;  // inner indices at a time: one cache line of every source row
  for_each_panel<T>(inner_, cols_, [&](std::size_t j, std::size_t n, std::size_t offset) {
    T* panel = values_.data() + offset;
    const std::size_t filled = std::min(n, cols - std::min(j, cols));
    for (std::size_t k = 0; k < inner; k += block)
      for (std::size_t c = 0; c < filled; ++c)
        for (std::size_t b = k; b < std::min(k + block, inner); ++b) panel[b * n + c] = source[(j + c) * inner + b];
  });
}

template <class T>
void PackedMatrix<T>::set(const float* source, std::size_t inner, std::size_t cols) {
  for (std::size_t k = 0; k < inner; ++k) set_row(k, source + k * cols, cols);
}

template <class T>
void PackedMatrix<T>::set_row(std::size_t k, const float* source, std::size_t cols) {
  for_each_panel<T>(inner_, cols_, [&](std::size_t j, std::size_t n, std::size_t offset) {
    if (j < cols) std::copy(source + j, source + std::min(j + n, cols), values_.data() + offset + k * n);
  });
}

template <class T>
void PackedMatrix<T>::multiply(const T* a, std::size_t a_stride, std::size_t rows, T* to,
                               std::size_t to_stride) const {
  for_each_panel<T>(inner_, cols_, [&](std::size_t j, std::size_t n, std::size_t offset) {
    for (std::size_t r = 0; r < rows; r += tile_rows)
      multiply_tile(n, a + r * a_stride, a_stride, 1, values_.data() + offset, inner_, to + r * to_stride + j,
                    to_stride);
  });
}

template class PackedMatrix<float>;
template class PackedMatrix<double>;

}  // namespace dpmpi
