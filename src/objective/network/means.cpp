#include "objective/network/means.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/errors.hpp"
#include "objective/network/clip.hpp"
#include "objective/network/inner_products.hpp"

namespace dpmpi {
namespace {

constexpr double double_error = 0x1p-36;  // of all double arithmetic on the way to a norm, relative to its terms

/// Squared length that levels and deltas may have where gradients cancel, in clips of at most 1: with longer ones,
/// numbers that are too small for float32 would matter.
constexpr double longest_square = 0x1p80;

/// Up to so many records of a person k^2 inner products take less time than a gradient of the person's own: per
/// coordinate this takes about as long as 64 products of an inner product. A function of the shape alone.
std::size_t most_records_of(const MlpShape& shape) {
  std::size_t widths = 0;
  for (std::size_t l = 0; l < shape.layers(); ++l) widths += shape.width(l) + shape.width(l + 1);
  const double most = std::sqrt(64 * static_cast<double>(shape.dim()) / static_cast<double>(widths));
  return std::min(GradientMeans::most_records, static_cast<std::size_t>(most));
}

}  // namespace

MlpClippedMeans::MlpClippedMeans(const MlpShape& shape, MlpPass& pass, MlpClippedGradient& gradient)
    : shape_(shape),
      pass_(pass),
      gradient_(gradient),
      most_records_(most_records_of(shape)),
      squares_(MlpPass::rows_at_once * shape.layers()),
      factors_(squares_.size()),
      levels_(GradientMeans::most_records * GradientMeans::most_records),
      deltas_(levels_.size()) {
  static_assert(2 * GradientMeans::most_records <= MlpPass::rows_at_once,
                "two persons share a sum: rounding_slack");
  rows_.reserve(MlpPass::rows_at_once);
  together_.reserve(GradientMeans::persons_at_once), left_.reserve(GradientMeans::persons_at_once);
}

std::span<const std::uint32_t> MlpClippedMeans::add(const Persons& persons, const MeanBound& bound,
                                                    LatticeAccumulator& sum) {
  verify(persons.number.size() <= GradientMeans::persons_at_once, "more persons than may share sums");
  const Records& records = persons.records;
  left_.clear(), together_.clear(), rows_.clear();
  for (const std::uint32_t person : persons.number) {
    const std::uint32_t first = records.unit_begin(person), count = records.unit_begin(person + 1) - first;
    if (count > most_records_) {
      left_.push_back(person);
      continue;
    }
    if (rows_.size() + count > MlpPass::rows_at_once) add_portion(records, bound, sum);
    together_.push_back(person);
    rows_.resize(rows_.size() + count);
    std::iota(rows_.end() - count, rows_.end(), first);
  }
  if (!together_.empty()) add_portion(records, bound, sum);
  return left_;
}

/// Adds the persons of together_, whose rows are rows_, and empties both.
void MlpClippedMeans::add_portion(const Records& records, const MeanBound& bound, LatticeAccumulator& sum) {
  gradient_.run({records, rows_});
  std::size_t first = 0;
  for (const std::uint32_t person : together_) {
    const std::size_t count = records.unit_begin(person + 1) - records.unit_begin(person);
    if (!clip_mean(first, count, bound)) {
      left_.push_back(person);
      for (std::size_t row = first; row < first + count; ++row) gradient_.zero_row(row);
    }
    first += count;
  }
  sum.begin(together_.size());
  gradient_.add_rows(rows_.size(), sum);
  together_.clear(), rows_.clear();
}

/// Scales the rows so that their gradients add up to the clipped mean. False: the arithmetic is too narrow.
bool MlpClippedMeans::clip_mean(std::size_t first, std::size_t count, const MeanBound& bound) {
  double norms = 0;
  for (std::size_t row = first; row < first + count; ++row) norms += clip_record(row, bound.of_record);
  double norm = norms / static_cast<double>(count) * (1 + double_error);
  if (count > 1 && norm > bound.clip) {
    const double square = squared_norm_of_mean(first, count, bound.clip);
    if (!std::isfinite(square)) return false;
    norm = std::min(norm, std::sqrt(square) * (1 + double_error));
  }
  const double factor = shrink(norm, bound.clip) / static_cast<double>(count);
  for (std::size_t row = first; row < first + count; ++row) {
    for (double& f : of_row(factors_, row)) f *= factor;
    gradient_.scale_row(row, of_row(factors_, row));
  }
  return true;
}

/// Sets the squares and factors of a row by its own clip; returns its norm behind it. Rows that are not finite
/// become zero.
double MlpClippedMeans::clip_record(std::size_t row, const L2Bound& bound) {
  const std::span<double> squares = of_row(squares_, row), factors = of_row(factors_, row);
  std::ranges::copy(gradient_.squares(row), squares.begin());
  std::ranges::copy(squares, factors.begin());
  if (!squares_to_factors(bound, factors)) {
    gradient_.zero_row(row);
    std::ranges::fill(squares, 0.0), std::ranges::fill(factors, 0.0);
  }
  double square = 0;
  for (std::size_t l = 0; l < shape_.layers(); ++l) square += factors[l] * factors[l] * squares[l];
  return std::sqrt(square);
}

// Let c_i g_i be the clipped gradients of k rows in a layer, g_i = d_i a_i^T. The square of their mean's norm is
// (sum_i c_i^2 |g_i|^2 + 2 sum_(j<i) c_i c_j <a_i, a_j> <d_i, d_j>) / k^2. Where both inner products err by e times
// the norms of their rows, all terms together err by (2 e + e^2) (sum_i c_i |g_i|)^2 / k^2 at most, and that is no
// more than (2 e + e^2) sum_i c_i^2 |g_i|^2 / k. The least part of clip^2 covers numbers below float32.
double MlpClippedMeans::squared_norm_of_mean(std::size_t first, std::size_t count, double clip) {
  const double k = static_cast<double>(count);
  const double limit = longest_square * std::min(1.0, clip * clip);
  double total = double_error * clip * clip;
  for (std::size_t l = 0; l < shape_.layers(); ++l) {
    const MlpNetwork<float>& network = pass_.network();
    const std::size_t width = shape_.width(l), height = shape_.width(l + 1);
    inner_products(l == 0 ? pass_.input().rows() : LevelRows<float>(network.level(l)), width, first, count,
                   levels_);
    inner_products(network.delta(l + 1), height, first, count, deltas_);
    double squares = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t itself = i * (count + 1);
      if (!(levels_[itself] <= limit && deltas_[itself] <= limit)) return std::numeric_limits<double>::quiet_NaN();
      const double c = of_row(factors_, first + i)[l];
      squares += c * c * of_row(squares_, first + i)[l];
    }
    const double e = inner_product_error(width), f = inner_product_error(height);
    total +=
        (squares + 2 * weighted_products(l, first, count)) / (k * k) + (e + f + e * f + double_error) * squares / k;
  }
  return total;
}

/// sum_(j<i) c_i c_j <a_i, a_j> <d_i, d_j>.
double MlpClippedMeans::weighted_products(std::size_t layer, std::size_t first, std::size_t count) {
  double total = 0;
  for (std::size_t i = 1; i < count; ++i) {
    double of_row_i = 0;
    for (std::size_t j = 0; j < i; ++j)
      of_row_i += of_row(factors_, first + j)[layer] * static_cast<double>(levels_[i * count + j]) *
                  static_cast<double>(deltas_[i * count + j]);
    total += of_row(factors_, first + i)[layer] * of_row_i;
  }
  return total;
}

}  // namespace dpmpi
