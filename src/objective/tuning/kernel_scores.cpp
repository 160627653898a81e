#include "objective/tuning/kernel_scores.hpp"

#include <algorithm>
#include <array>

#include "objective/math/dot.hpp"
#include "objective/math/loss_functions.hpp"
#include "objective/math/losses.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t records_in_vector = 8;  // records of the set in one vector
constexpr std::size_t rows_in_registers = 4;  // rows whose products are kept in registers

}  // namespace

static_assert(tile_rows == 8 && tile_rows % rows_in_registers == 0);

KernelScores::Parts::Parts(std::span<double> model, const PublicSet& set)
    : offset(model.data()), weight(offset + 1), square(weight + set.features), coefficient(square + set.stride) {}

void KernelScores::begin(std::span<const double> length, double scale, std::span<double> model) const {
  std::fill(model.begin(), model.end(), 0.0);
  const Parts parts(model, set_);
  for (std::size_t j = 0; j < set_.features; ++j) {
    parts.weight[j] = scale / (length[j] * length[j]);
    const double* x = &set_.x[j * set_.stride];
    for (std::size_t t = 0; t < set_.count; ++t) parts.square[t] += parts.weight[j] * x[t] * x[t];
  }
}

void KernelScores::weigh(const double* weight, const double* rows, std::size_t stride) {
  for (std::size_t r = 0; r < tile_rows; ++r) {
    half_[r] = 0;
    for (std::size_t j = 0; j < set_.features; ++j) {
      const double x = rows[r * stride + j];
      weighted_[r * set_.features + j] = weight[j] * x;
      half_[r] += weight[j] * x * x / 2;
    }
  }
}

/// Calls use(row, t, kernel) for the rows of weigh() and the records t .. t + records_in_vector - 1 of the set, in
/// ascending order of t for every row.
template <class Use>
void KernelScores::for_each_tile(const double* square, const Use& use) const {
  const std::size_t features = set_.features, stride = set_.stride;
  for (std::size_t t = 0; t < stride; t += records_in_vector)
    for (std::size_t first = 0; first < tile_rows; first += rows_in_registers) {
      Eight product[rows_in_registers] = {}, column;
      const double* x = set_.x.data() + t;
      for (std::size_t j = 0; j < features; ++j, x += stride) {
        load(x, column);
        for (std::size_t r = 0; r < rows_in_registers; ++r)
          product[r] += weighted_[(first + r) * features + j] * column;
      }
      for (std::size_t r = 0; r < rows_in_registers; ++r) {
        std::array<double, records_in_vector> kernel;
        for (std::size_t l = 0; l < records_in_vector; ++l) {
          const double exponent = product[r][l] - half_[first + r] - square[t + l] / 2;
          kernel[l] = exp_nonpositive(exponent > 0 ? 0 : exponent);  // rounding may lift it above 0
        }
        use(first + r, t, kernel);
      }
    }
}

void KernelScores::gram(std::span<double> model, double* gram) {
  const Parts parts(model, set_);
  AlignedVector<double> rows(tile_rows * set_.features);
  for (std::size_t i = 0; i < set_.count; i += tile_rows) {
    for (std::size_t r = 0; r < tile_rows; ++r)  // the set is padded to whole tiles
      for (std::size_t j = 0; j < set_.features; ++j) rows[r * set_.features + j] = set_.x[j * set_.stride + i + r];
    weigh(parts.weight, rows.data(), set_.features);
    for_each_tile(parts.square,
                  [&](std::size_t row, std::size_t t, const std::array<double, records_in_vector>& kernel) {
                    if (i + row < set_.count)
                      std::copy(kernel.begin(), kernel.end(), gram + (i + row) * set_.stride + t);
                  });
  }
}

void KernelScores::predict(std::span<const double> model, const double* rows, std::size_t stride, double* out) {
  // Parts are for writing, too; nothing is written here.
  const Parts parts(std::span(const_cast<double*>(model.data()), model.size()), set_);
  weigh(parts.weight, rows, stride);
  std::array<std::array<double, records_in_vector>, tile_rows> sum{};
  for_each_tile(parts.square,
                [&](std::size_t row, std::size_t t, const std::array<double, records_in_vector>& kernel) {
                  for (std::size_t l = 0; l < records_in_vector; ++l)
                    sum[row][l] += parts.coefficient[t + l] * kernel[l];
                });
  for (std::size_t r = 0; r < tile_rows; ++r) {
    out[r] = *parts.offset;
    for (const double lane : sum[r]) out[r] += lane;
  }
}

}  // namespace dpmpi
