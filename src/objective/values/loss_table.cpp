#include "objective/values/loss_table.hpp"

#include <algorithm>
#include <array>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "objective/joint_clip.hpp"
#include "objective/takes_part.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t row_step = 16;  // rows of a product, whatever the register tile

}  // namespace

NumericSlack LossTable::slack(std::size_t width) { return joint_clip_slack(width); }

// A stride has half as much room again at most, and two cache lines.
double LossTable::bytes(std::uint64_t records, double points) {
  return sizeof(double) * static_cast<double>(records) * (1.5 * points + 16);
}

Kernel LossTable::kernel(std::span<const double> points, std::uint64_t first_number, Map map) {
  const std::size_t dim = objective_.dim(), columns = points.size() / dim;
  verify(columns > count_ && points.size() == columns * dim, "points of the objective's dimension, and new ones");
  first_number_ = first_number;
  make_room(columns);
  Kernel kernel([this](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) { add(rows, bound, sum); });
  kernel.remembers = true;
  first_ = count_;
  point_losses_.prepare(points.subspan(count_ * dim));
  for (std::size_t p = 0; p < columns - count_; p += point_losses_.at_once(p)) ++kernel.readings;
  kernel.begin = [this, columns, map = std::move(map)](std::size_t) {
    position_ = 0;
    if (count_ < columns)
      prepare(count_, point_losses_.at_once(count_ - first_));
    else
      take(map());
  };
  kernel.read = [this](const Rows& rows) { evaluate(rows); };
  return kernel;
}

// Of all points: the next reading multiplies.
void LossTable::take(std::span<const double> map) {
  width_ = map.size() / count_;
  verify(width_ > 0 && map.size() == count_ * width_, "a map of all points");
  packed_ = PackedMatrix<double>(count_, round_up(width_, row_step));
  for (std::size_t j = 0; j < count_; ++j) packed_.set_row(j, map.data() + j * width_, width_);
  clipped_.resize(width_);
}

// Room grows in proportion, so that a value is copied a few times at most. Strides that are multiples of a page
// would send the rows of a register tile to the same places of the cache.
void LossTable::make_room(std::size_t columns) {
  if (columns <= stride_) return;
  const std::size_t wanted = round_up(std::max(columns, stride_ + stride_ / 2), 8);
  const std::size_t stride = wanted % 64 == 0 ? wanted + 8 : wanted;
  for (Tile& tile : tiles_) {
    AlignedVector<double> wider(round_up(tile.rows, row_step) * stride, 0.0);
    for (std::size_t r = 0; r < tile.rows; ++r)
      std::copy_n(tile.values.data() + r * stride_, count_, wider.data() + r * stride);
    tile.values.swap(wider);
  }
  stride_ = stride;
}

void LossTable::forget_first(std::size_t count) {
  verify(count <= count_, "only points that were evaluated are forgotten");
  for (Tile& tile : tiles_)
    for (std::size_t r = 0; r < tile.rows; ++r) {
      double* row = tile.values.data() + r * stride_;
      std::copy(row + count, row + count_, row);
    }
  count_ -= count;
}

// The next reading of the batch fills these columns.
void LossTable::prepare(std::size_t column, std::size_t columns) {
  column_ = column;
  count_ = column + columns;
}

double LossTable::coin_of_all(std::size_t column) const {
  if (rule_.noise != LossRule::Noise::shared) return 0;
  std::array<double, 2> normals;
  PublicStream(rule_.seed, "evaluation noise", first_number_ + column).normals(0, normals);
  return rule_.noise_std * normals[0];
}

LossTable::Tile& LossTable::next(const Rows& rows) {
  if (position_ == tiles_.size())
    tiles_.push_back({rows.size(), AlignedVector<double>(round_up(rows.size(), row_step) * stride_, 0.0)});
  Tile& tile = tiles_[position_++];
  verify(tile.rows == rows.size(), "a table of records sees all of them, in the same order");
  return tile;
}

double LossTable::coin(const Rows& rows, std::size_t r, std::size_t column) const {
  if (rule_.noise != LossRule::Noise::per_record) return 0;
  verify(!rows.slot.empty(), "coins of records need their numbers");
  const std::uint32_t number = rows.slot[r];
  std::array<double, 2> normals;
  PublicStream(rule_.seed, "evaluation noise", first_number_ + column).normals(number & ~1U, normals);
  return rule_.noise_std * normals[number & 1U];
}

void LossTable::evaluate(const Rows& rows) {
  Tile& tile = next(rows);
  const std::size_t n = rows.size(), columns = count_ - column_;
  losses_.resize(std::max(losses_.size(), columns * n));
  point_losses_.losses_from(column_ - first_, rows, std::span(losses_).first(columns * n));
  for (std::size_t c = column_; c < count_; ++c) {
    const double of_all = coin_of_all(c);
    for (std::size_t r = 0; r < n; ++r)
      tile.values[r * stride_ + c] = losses_[(c - column_) * n + r] - rule_.offset + (of_all + coin(rows, r, c));
  }
}

void LossTable::add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  verify(bound.clipping == Clipping::flat, "a gradient is clipped as one vector");
  const Tile& tile = next(rows);
  const std::size_t padded = round_up(tile.rows, row_step), stride = packed_.cols();
  product_.resize(std::max(product_.size(), padded * stride));
  packed_.multiply(tile.values.data(), stride_, padded, product_.data(), stride);
  for (std::size_t r = 0; r < tile.rows; ++r) {
    if (!takes_part(rows.records, rows.index[r])) continue;
    if (!clip_jointly({product_.data() + r * stride, width_}, bound.clip, clipped_)) continue;
    sum.begin(1);
    sum.add(0, std::span<const double>(clipped_));
  }
}

}  // namespace dpmpi
