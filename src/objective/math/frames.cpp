#include "objective/math/frames.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/math/dot.hpp"

namespace dpmpi {
namespace {

constexpr std::uint32_t frame_tag = 2;
constexpr std::size_t group = 4;             // coordinates whose normals share counter blocks
constexpr std::size_t rows_at_once = 256;    // of a product: its operands stay in the second-level cache
constexpr double largest_condition = 1e6;    // that two passes repair to rounding
constexpr std::uint32_t most_attempts = 64;  // each fails with probability below 1e-2

// A frame that is made again and again gains nothing from long tiles.
std::size_t rows_of_tile(std::size_t dim, std::size_t count, std::size_t bytes) {
  const std::size_t fit = bytes / (count * sizeof(double));
  return fit >= dim ? dim : std::min(dim, std::max(rows_at_once, fit / 8 / rows_at_once * rows_at_once));
}

/// R (upper, positive diagonal) with R^T R = A, in place of the upper part of A (K x stride). False if A is not
/// positive definite to rounding.
bool cholesky(double* a, std::size_t K, std::size_t stride) {
  for (std::size_t k = 0; k < K; ++k) {
    double* __restrict pivot_row = a + k * stride;
    if (!(pivot_row[k] > 0)) return false;
    const double pivot = std::sqrt(pivot_row[k]);
    pivot_row[k] = pivot;
    for (std::size_t j = k + 1; j < K; ++j) pivot_row[j] /= pivot;
    for (std::size_t i = k + 1; i < K; ++i) {
      double* __restrict row = a + i * stride;
      const double factor = -pivot_row[i];
      for (std::size_t j = i; j < K; ++j) row[j] = std::fma(factor, pivot_row[j], row[j]);
    }
  }
  return true;
}

/// x = R^-1 (upper) for the upper R.
void invert_upper(const double* r, std::size_t K, std::size_t stride, double* x) {
  for (std::size_t i = K; i-- > 0;) {
    double* __restrict row = x + i * stride;
    std::fill_n(row, stride, 0.0);
    row[i] = 1;
    for (std::size_t j = i + 1; j < K; ++j) {
      const double* __restrict below = x + j * stride;
      const double factor = -r[i * stride + j];
      for (std::size_t k = j; k < K; ++k) row[k] = std::fma(factor, below[k], row[k]);
    }
    for (std::size_t k = i; k < K; ++k) row[k] /= r[i * stride + i];
  }
}

double upper_norm(const double* a, std::size_t K, std::size_t stride) {
  double square = 0;
  for (std::size_t i = 0; i < K; ++i)
    for (std::size_t j = i; j < K; ++j) square += a[i * stride + j] * a[i * stride + j];
  return std::sqrt(square);
}

/// K x K matrices as panels.
void pack(Panels& to, const double* from, std::size_t inner, std::size_t K, std::size_t row) {
  to.resize(inner, K);
  for (std::size_t j = 0; j < K; j += Panels::widest)
    to.pack_columns(j, std::min(Panels::widest, K - j), from + j, row);
}

}  // namespace

Frames::Frames(DirectionLaw law, std::size_t dim, std::size_t count, std::uint64_t key, std::size_t tile_bytes)
    : law_(law), dim_(dim), count_(count), bits_(key, frame_tag) {
  constexpr std::size_t counters = std::size_t{1} << 32;
  if (dim == 0 || count == 0) throw ConfigError("a frame needs at least one direction and one coordinate");
  if (dim >= counters || count >= counters) throw ConfigError("directions and coordinates are counted in 32 bits");
  if (law == DirectionLaw::stiefel && count > dim)
    throw ConfigError(
        fmt::format("{} directions in {} dimensions cannot be orthonormal: set at most as many "
                    "directions as the model has parameters",
                    count, dim));
  tile_rows_ = rows_of_tile(dim, count, tile_bytes);
  stride_ = round_up(count, Panels::lanes);
  values_.resize(round_up(tile_rows_, group) * count);
  if (law == DirectionLaw::stiefel) {
    gram_.resize(count * stride_);
    inverse_.resize(count * stride_);
    product_.resize(rows_at_once * stride_);
    columns_.resize(rows_at_once, count);
  } else {
    column_scale_.resize(count);
  }
}

void Frames::begin(std::uint64_t step) {
  verify(step < (std::uint64_t{1} << 32), "steps are counted in 32 bits");
  step_ = static_cast<std::uint32_t>(step);
  attempt_ = 0;
  start();
  if (law_ != DirectionLaw::stiefel) return measure_columns();
  // G = U R with U and R independent (Bartlett), so that drawing again because of R leaves U Haar distributed.
  while (!orthonormalise()) {
    ++attempt_;
    verify(attempt_ < most_attempts, "no frame of normals is well conditioned");
    start();
  }
  // With d >= 2 K the condition of G is below 6 or so, and one pass is orthonormal to rounding (CholeskyQR2:
  // Yamamoto, Nakatsukasa, Yanagisawa and Fukaya, 2015).
  if (dim_ < 2 * count_) verify(orthonormalise(), "the second pass is well conditioned");
}

void Frames::start() {
  passes_ = 0;
  if (kept()) draw(0, dim_);
}

// Normal (j % 4) K + k of the counter blocks (0 .. K-1, j / 4, attempt, step) is G(j, k): none is thrown away.
void Frames::draw(std::size_t first, std::size_t rows) {
  verify(first % group == 0 && rows <= tile_rows_ && first + rows <= dim_, "a tile of the frame");
  const std::size_t groups = (rows + group - 1) / group;
  bits_.normals({.blocks = static_cast<std::uint32_t>(count_),
                 .first_row = static_cast<std::uint32_t>(first / group),
                 .rows = static_cast<std::uint32_t>(groups),
                 .c2 = attempt_,
                 .c3 = step_},
                std::span(values_).first(groups * group * count_));
}

const double* Frames::tile(std::size_t first, std::size_t rows) {
  if (kept()) return values_.data() + first * count_;
  draw(first, rows);
  for (std::size_t pass = 0; pass < passes_; ++pass) apply(pass, rows);
  if (!column_scale_.empty() && law_ != DirectionLaw::gauss)
    for (std::size_t j = 0; j < rows; ++j)
      for (std::size_t k = 0; k < count_; ++k) values_[j * count_ + k] *= column_scale_[k];
  return values_.data();
}

template <class Visit>
void Frames::for_each_tile(Visit&& visit) {
  for (std::size_t first = 0; first < dim_; first += tile_rows_) {
    const std::size_t rows = std::min(tile_rows_, dim_ - first);
    visit(first, rows, tile(first, rows));
  }
}

void Frames::measure_columns() {
  if (law_ == DirectionLaw::gauss) return;
  std::fill(column_scale_.begin(), column_scale_.end(), 0.0);
  for (std::size_t first = 0; first < dim_; first += tile_rows_) {
    const std::size_t rows = std::min(tile_rows_, dim_ - first);
    if (!kept()) draw(first, rows);
    const double* __restrict g = values_.data();
    double* __restrict sum = column_scale_.data();
    for (std::size_t j = 0; j < rows; ++j, g += count_)
      for (std::size_t k = 0; k < count_; ++k) sum[k] = std::fma(g[k], g[k], sum[k]);
  }
  const double length = law_ == DirectionLaw::sphere_sqrtd ? std::sqrt(static_cast<double>(dim_)) : 1.0;
  for (double& v : column_scale_) v = length / std::sqrt(v);
  if (!kept()) return;
  for (std::size_t j = 0; j < dim_; ++j)
    for (std::size_t k = 0; k < count_; ++k) values_[j * count_ + k] *= column_scale_[k];
}

/// One more triangular factor. False if the columns are too dependent for it.
bool Frames::orthonormalise() {
  form_gram();
  if (!cholesky(gram_.data(), count_, stride_)) return false;
  invert_upper(gram_.data(), count_, stride_, inverse_.data());
  const double condition = upper_norm(gram_.data(), count_, stride_) * upper_norm(inverse_.data(), count_, stride_);
  if (!(condition <= largest_condition)) return false;
  pack(factors_[passes_], inverse_.data(), count_, count_, stride_);
  if (kept()) apply(passes_, dim_);
  ++passes_;
  return true;
}

/// U^T U of the factors so far, upper part.
void Frames::form_gram() {
  std::fill(gram_.begin(), gram_.end(), 0.0);
  for_each_tile([&](std::size_t, std::size_t rows, const double* values) {
    for (std::size_t from = 0; from < rows; from += rows_at_once) {
      const std::size_t now = std::min(rows_at_once, rows - from);
      const double* piece = values + from * count_;
      pack(columns_, piece, now, count_, count_);
      continue_chains({piece, 1, count_}, count_, columns_, 0, now, gram_.data(), stride_, Triangle::result);
    }
  });
}

/// Multiplies the first rows of values_ by a factor.
void Frames::apply(std::size_t factor, std::size_t rows) {
  for (std::size_t from = 0; from < rows; from += rows_at_once) {
    const std::size_t now = std::min(rows_at_once, rows - from);
    double* piece = values_.data() + from * count_;
    std::fill_n(product_.begin(), now * stride_, 0.0);
    continue_chains({piece, count_, 1}, now, factors_[factor], 0, count_, product_.data(), stride_,
                    Triangle::factor);
    for (std::size_t j = 0; j < now; ++j) std::copy_n(product_.data() + j * stride_, count_, piece + j * count_);
  }
}

void Frames::project(std::span<const double> v, std::span<double> along) {
  verify(v.size() == dim_, "a vector of d coordinates");
  std::fill(along.begin(), along.end(), 0.0);
  for (std::size_t first = 0; first < dim_; first += tile_rows_)
    project_rows(first, v.subspan(first, std::min(tile_rows_, dim_ - first)), along);
}

void Frames::project_rows(std::size_t first, std::span<const double> v, std::span<double> along) {
  verify(along.size() == count_, "K numbers along the frame");
  const double* __restrict u = tile(first, v.size());
  double* __restrict sum = along.data();
  for (const double value : v) {
    for (std::size_t k = 0; k < count_; ++k) sum[k] = std::fma(value, u[k], sum[k]);
    u += count_;
  }
}

void Frames::add(std::span<const double> along, std::span<double> v) {
  verify(v.size() == dim_, "a vector of d coordinates");
  for (std::size_t first = 0; first < dim_; first += tile_rows_)
    add_rows(first, along, v.subspan(first, std::min(tile_rows_, dim_ - first)));
}

void Frames::add_rows(std::size_t first, std::span<const double> along, std::span<double> v) {
  verify(along.size() == count_, "K numbers along the frame");
  const double* u = tile(first, v.size());
  for (double& value : v) {
    value += dot(u, along.data(), count_);
    u += count_;
  }
}

}  // namespace dpmpi
