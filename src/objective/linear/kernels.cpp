// Compiled with -ffp-contract=fast: multiply-adds of its vectors fuse.
#include "objective/linear/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "objective/linear/prefetch_rows.hpp"
#include "objective/math/lanes.hpp"

namespace dpmpi {

Tile Tile::of(const Rows& rows, std::size_t first) {
  Tile tile;
  if (first >= rows.size()) return tile;
  tile.count = std::min(tile_rows, rows.size() - first);
  for (std::size_t r = 0; r < tile_rows; ++r) tile.row[r] = rows.index[first + std::min(r, tile.count - 1)];
  return tile;
}

GlmPoint::GlmPoint(Storage storage, std::size_t features)
    : copied_(storage != Storage::sparse_f32), padded_(round_up(features, lanes::width)) {}

void GlmPoint::set(std::span<const float> values) {
  data_ = values.data();
  if (!copied_) return;
  values_.resize(padded_, 0.0F);
  std::copy(values.begin(), values.end(), values_.begin());
  data_ = values_.data();
}

namespace {

using lanes::Floats, lanes::Ints, lanes::native, lanes::parts;
using RowPointers = std::array<const float*, tile_rows>;

/// Where a sweep gets its rows from.
struct FloatRows {
  const RowPointers& row;
  Floats operator()(std::size_t r, std::size_t j) const { return lanes::load(row[r] + j); }
};
/// Bytes, which are left behind as floats for the sweep to come.
struct ByteRows {
  const std::array<const std::uint8_t*, tile_rows>& row;
  const std::array<float*, tile_rows>& wide;
  Floats operator()(std::size_t r, std::size_t j) const {
    const Floats x = lanes::widen(row[r] + j);
    lanes::store(wide[r] + j, x);
    return x;
  }
};

/// Calls work(height) with a constant: loops over the rows of a tile that is not full are unrolled, too.
template <class Work>
void with_height(std::size_t height, Work&& work) {
  static_assert(tile_rows == 8);
  const auto is = [&]<std::size_t h>(std::integral_constant<std::size_t, h> constant) {
    if (height == h) work(constant);
  };
  [&]<std::size_t... h>(std::index_sequence<h...>) { (is(std::integral_constant<std::size_t, h + 1>()), ...); }
  (std::make_index_sequence<tile_rows>());
}

/// out[r] = <row r, point> for the first `height` rows of a tile, from row `first` on, and a point of `padded`
/// coordinates.
template <std::size_t height, std::size_t first = 0, class Rows>
void tile_dots(const Rows& rows, const float* point, std::size_t padded, ReadAhead& ahead, double* out) {
  constexpr std::size_t group = std::min(height - first, 16 / parts);  // rows whose sums fit the registers
  Floats sum[group][parts] = {};
  for (std::size_t j = 0; j < padded; j += lanes::width) {
    ahead.step();
#pragma GCC unroll 4
    for (std::size_t i = 0; i < parts; ++i) {
      const Floats p = lanes::load(point + j + i * native);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < group; ++r) sum[r][i] += rows(first + r, j + i * native) * p;
    }
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < group; ++r) out[first + r] = lanes::sum(sum[r]);
  if constexpr (first + group < height) tile_dots<height, first + group>(rows, point, padded, ahead, out);
}

/// to[j] += sum over r < height of nearest(factor[r] * rows[r][j]) for one vector of lanes.
template <std::size_t height>
void add_rounded(const RowPointers& rows, const Floats* factor, std::size_t j, std::int32_t* to) {
#pragma GCC unroll 4
  for (std::size_t i = 0; i < lanes::width; i += native) {
    Ints sum = lanes::load(to + i);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < height; ++r) sum += lanes::nearest(factor[r] * lanes::load(rows[r] + j + i));
    lanes::store(to + i, sum);
  }
}

inline std::int32_t nearest(float x) { return static_cast<std::int32_t>(__builtin_lrintf(x)); }

class DenseKernel : public GlmKernel {
 public:
  explicit DenseKernel(std::size_t features)
      : features_(features), padded_(round_up(features, lanes::width)), zeros_(padded_, 0.0F) {}

  void load(const Records& records, const Tile& tile, const Tile& next) override {
    bias_ = records.bias;
    height_ = tile.count;
    for (std::size_t r = 0; r < tile_rows; ++r) rows_[r] = records.row_f32(tile.row[r]);
    std::array<const void*, tile_rows> wanted{};
    for (std::size_t r = 0; r < next.count; ++r) wanted[r] = records.row_f32(next.row[r]);
    look_ahead(wanted, next.count, padded_ * sizeof(float));
  }

  void margins(const GlmPoint& point, double* out) override { dots(FloatRows{rows_}, point, out); }

  void accumulate(const RowFactors& factors, std::int32_t* hot) override {
    RowPointers rows = rows_;
    Floats factor[tile_rows];
    for (std::size_t r = 0; r < tile_rows; ++r) {
      if (factors.raw[r] == 0) rows[r] = zeros_.data();  // 0 times a NaN is a NaN
      factor[r] = lanes::splat(factors.raw[r]);
    }
    ReadAhead ahead = ahead_;
    with_height(height_, [&](auto height) {
      for (std::size_t j = 0; j < padded_; j += lanes::width) {  // where it reaches past the features it adds 0
        ahead.step();
        add_rounded<height>(rows, factor, j, hot + j);
      }
    });
    ahead_.rest();
    if (bias_ == 0) return;
    for (std::size_t r = 0; r < tile_rows; ++r) hot[features_] += nearest(factors.bias[r] * bias_);
  }

 protected:
  template <class Rows>
  void dots(const Rows& rows, const GlmPoint& point, double* out) {
    with_height(height_, [&](auto height) { tile_dots<height>(rows, point.data(), padded_, ahead_, out); });
    std::fill(out + height_, out + tile_rows, out[height_ - 1]);
  }

  void look_ahead(const std::array<const void*, tile_rows>& rows, std::size_t count, std::size_t row_bytes) {
    ahead_.aim(rows, count, row_bytes);
  }

  std::size_t features_, padded_;
  std::size_t height_ = tile_rows;  // rows of the tile that are real
  float bias_ = 0;
  RowPointers rows_{};

 private:
  AlignedVector<float> zeros_;
  ReadAhead ahead_;
};

/// Bytes are widened by margins(), into scratch that stays in the first-level cache for accumulate().
class ByteKernel final : public DenseKernel {
 public:
  explicit ByteKernel(std::size_t features) : DenseKernel(features), scratch_(tile_rows * padded_, 0.0F) {
    for (std::size_t r = 0; r < tile_rows; ++r) rows_[r] = wide_[r] = scratch_.data() + r * padded_;
  }

  void load(const Records& records, const Tile& tile, const Tile& next) override {
    bias_ = records.bias;
    height_ = tile.count;
    for (std::size_t r = 0; r < tile_rows; ++r) {
      bytes_[r] = records.row_u8(tile.row[r]);
      scale_[r] = records.row_scale[tile.row[r]];
    }
    std::array<const void*, tile_rows> wanted{};
    for (std::size_t r = 0; r < next.count; ++r) wanted[r] = records.row_u8(next.row[r]);
    look_ahead(wanted, next.count, padded_);
  }

  void margins(const GlmPoint& point, double* out) override {
    dots(ByteRows{bytes_, wide_}, point, out);
    for (std::size_t r = 0; r < tile_rows; ++r) out[r] *= scale_[r];
  }

 private:
  AlignedVector<float> scratch_;
  std::array<float*, tile_rows> wide_{};
  std::array<const std::uint8_t*, tile_rows> bytes_{};
  std::array<double, tile_rows> scale_{};
};

class SparseKernel final : public GlmKernel {
 public:
  explicit SparseKernel(std::size_t features) : features_(features) {}

  void load(const Records& records, const Tile& tile, const Tile&) override {
    bias_ = records.bias;
    for (std::size_t r = 0; r < tile_rows; ++r) {
      const std::uint64_t first = records.row_begin[tile.row[r]];
      rows_[r] = {records.column.data() + first, records.value.data() + first,
                  records.row_begin[tile.row[r] + 1] - first};
    }
  }

  void margins(const GlmPoint& point, double* out) override {
    for (std::size_t r = 0; r < tile_rows; ++r) out[r] = dot(rows_[r], point.data());
  }

  void accumulate(const RowFactors& factors, std::int32_t* hot) override {
    for (std::size_t r = 0; r < tile_rows; ++r) {
      const float factor = factors.raw[r];
      if (factor == 0) continue;
      const Row& row = rows_[r];
      for (std::size_t e = 0; e < row.entries; ++e) hot[row.column[e]] += nearest(factor * row.value[e]);
      if (bias_ != 0) hot[features_] += nearest(factors.bias[r] * bias_);
    }
  }

 private:
  struct Row {
    const std::uint32_t* column;
    const float* value;
    std::size_t entries;
  };

  /// Four chains, so that the additions of a row do not wait for one another.
  static double dot(const Row& row, const float* point) {
    float sum[4] = {};
    std::size_t e = 0;
    for (; e + 4 <= row.entries; e += 4)
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) sum[i] += row.value[e + i] * point[row.column[e + i]];
    for (std::size_t i = 0; e < row.entries; ++e, ++i) sum[i] += row.value[e] * point[row.column[e]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  std::size_t features_;
  float bias_ = 0;
  std::array<Row, tile_rows> rows_{};
};

}  // namespace

std::unique_ptr<GlmKernel> make_glm_kernel(Storage storage, std::size_t features) {
  switch (storage) {
    case Storage::dense_f32:
      return std::make_unique<DenseKernel>(features);
    case Storage::dense_u8:
      return std::make_unique<ByteKernel>(features);
    case Storage::sparse_f32:
      return std::make_unique<SparseKernel>(features);
  }
  return nullptr;
}

}  // namespace dpmpi
