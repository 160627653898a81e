#include "objective/linear/glm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "objective/linear/clip.hpp"
#include "objective/math/dot.hpp"
#include "objective/math/weighted_loss.hpp"

namespace dpmpi {

namespace {

constexpr double no_norm = std::numeric_limits<double>::quiet_NaN();

std::unique_ptr<ScalarLoss> with_weights(std::unique_ptr<ScalarLoss> loss, const ClassWeights& weights) {
  if (weights.empty()) return loss;
  verify(weights.size() == 2, "a weight for each sign");
  return weighted_loss(std::move(loss), weights[0], weights[1]);
}

}  // namespace

Glm::Glm(const ObjectiveFacts& facts, std::unique_ptr<ScalarLoss> loss, ClassWeights weights)
    : features_(facts.features),
      storage_(facts.storage),
      bias_(facts.bias),
      weights_(std::move(weights)),
      loss_(with_weights(std::move(loss), weights_)),
      kernel_(make_glm_kernel(facts.storage, facts.features)),
      at_(storage_, features_),
      probe_(dim()) {
  if (features_ == 0) throw DataError("records without features");
}

std::vector<ParameterGroup> Glm::groups() const {
  std::vector<ParameterGroup> all{{"weight", 0, 1, features_}};
  if (bias_ != 0) all.push_back({"bias", features_, 1, 1});
  return all;
}

// Room for the point is made when it first comes: a method that asks for other kernels has none in memory.
void Glm::prepare(std::span<const float> w) {
  verify(w.size() == dim(), "a point of another dimension");
  at_.set(w.first(features_));
  if (bias_ != 0) bias_at_ = w[features_];
}

void Glm::margins(const Records& records, const Tile& tile, double* out) {
  kernel_->margins(at_, out);
  if (bias_ != 0) {
    const double shift = static_cast<double>(bias_) * bias_at_;
    for (std::size_t r = 0; r < tile_rows; ++r) out[r] += shift;
  }
  if (records.offset.empty()) return;
  for (std::size_t r = 0; r < tile_rows; ++r) out[r] += records.offset_of(tile.row[r]);
}

void Glm::slopes(const Records& records, const Tile& tile, const double* margin, const double* label,
                 double* out) const {
  loss_->slopes(margin, label, out);
  if (records.weight.empty()) return;
  for (std::size_t r = 0; r < tile_rows; ++r) out[r] *= records.weight_of(tile.row[r]);
}

template <class Body>
void Glm::for_each_tile(const Rows& rows, Body&& body) {
  const Records& records = rows.records;
  verify(records.features == features_ && records.storage == storage_ && records.bias == bias_,
         "records of another shape than the objective was made for");
  Tile tile = Tile::of(rows, 0);
  for (std::size_t first = 0; first < rows.size(); first += tile_rows) {
    const bool last = first + tile_rows >= rows.size();
    const Tile next = last ? Tile::of({records, rows.next}, 0) : Tile::of(rows, first + tile_rows);
    kernel_->load(records, tile, next);
    TileOf label;
    for (std::size_t r = 0; r < tile_rows; ++r) label[r] = records.label[tile.row[r]];
    body(tile, label, first);
    tile = next;
  }
}

void Glm::losses(const Rows& rows, std::span<double> out) {
  TileOf margin, value;
  for_each_tile(rows, [&](const Tile& tile, const TileOf& label, std::size_t first) {
    margins(rows.records, tile, margin);
    loss_->values(margin, label, value);
    for (std::size_t r = 0; r < tile.count; ++r) out[first + r] = value[r];
  });
}

void Glm::scores(const Rows& rows, std::span<float> out) {
  TileOf margin;
  for_each_tile(rows, [&](const Tile& tile, const TileOf&, std::size_t first) {
    margins(rows.records, tile, margin);
    for (std::size_t r = 0; r < tile.count; ++r) out[first + r] = static_cast<float>(margin[r]);
  });
}

void Glm::add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  TileOf margin, slope;
  for_each_tile(rows, [&](const Tile& tile, const TileOf& label, std::size_t) {
    margins(rows.records, tile, margin);
    slopes(rows.records, tile, margin, label, slope);
    add_scaled(rows.records, tile, margin, slope, bound, sum);
  });
}

void Glm::gradient_norms(const Rows& rows, std::span<double> out) {
  const double bound = loss_->slope_bound();
  if (!std::isfinite(bound)) return norms_at_point(rows, out);
  const Records& records = rows.records;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t at = rows.index[i];
    const double label = records.label[at];
    const double share = weights_.empty() ? 1 : weights_.of_sign(label) / weights_.largest();
    out[i] = std::isnan(label) ? no_norm : bound * share * records.weight_of(at) * records.norm[at];
  }
}

void Glm::norms_at_point(const Rows& rows, std::span<double> out) {
  TileOf margin, slope;
  for_each_tile(rows, [&](const Tile& tile, const TileOf& label, std::size_t first) {
    margins(rows.records, tile, margin);
    slopes(rows.records, tile, margin, label, slope);
    for (std::size_t r = 0; r < tile.count; ++r)
      out[first + r] = std::isnan(label[r]) ? no_norm : std::abs(slope[r]) * rows.records.norm[tile.row[r]];
  });
}

/// Factors of clip(slope[r] (x_r, bias)) on the lattice for the real rows of the tile; 0 for an empty slot or where
/// slope, margin or record is not finite (N7: `min(1, C / NaN)` would be 1). Branch-free, so that a tile is one
/// vector.
RowFactors Glm::clipped_factors(const Records& records, const Tile& tile, const double* margin, const double* slope,
                                double clip, double scale) const {
  TileOf norm, row_scale, label;
  for (std::size_t r = 0; r < tile_rows; ++r) {
    const std::size_t i = tile.row[r];
    norm[r] = records.norm[i];
    label[r] = records.label[i];
    row_scale[r] = storage_ == Storage::dense_u8 ? records.row_scale[i] : 1.0F;
  }
  RowFactors factors;
  for (std::size_t r = 0; r < tile_rows; ++r) {
    const double limit = clip / norm[r];  // infinite for a record of zeros
    const double margin_size = std::abs(margin[r]), slope_size = std::abs(slope[r]),
                 largest_value = std::abs(row_scale[r]);
    const bool counts = (margin_size < infinity) & (slope_size < infinity) & (norm[r] >= 0) & (norm[r] < infinity) &
                        (largest_value < infinity) & (label[r] == label[r]);
    const double above = slope[r] < -limit ? -limit : slope[r];
    const double clipped = (above > limit ? limit : above) * scale;
    factors.raw[r] = towards_zero(counts ? clipped * row_scale[r] : 0.0);
    factors.bias[r] = towards_zero(counts ? clipped : 0.0);
  }
  for (std::size_t r = tile.count; r < tile_rows; ++r) factors.raw[r] = factors.bias[r] = 0;
  return factors;
}

void Glm::add_scaled(const Records& records, const Tile& tile, const double* margin, const double* slope,
                     const L2Bound& bound, LatticeAccumulator& sum) {
  const RowFactors factors = clipped_factors(records, tile, margin, slope, bound.clip, sum.lattice().scale());
  if (sum.rows_at_once() >= tile.count) {
    sum.begin(tile.count);
    kernel_->accumulate(factors, sum.int32_scratch());
    return;
  }
  // A very fine lattice, on which the int32 accumulator surely holds a few records only.
  for (std::size_t r = 0; r < tile.count; ++r) {
    RowFactors one;
    one.raw[r] = factors.raw[r];
    one.bias[r] = factors.bias[r];
    sum.begin(1);
    kernel_->accumulate(one, sum.int32_scratch());
  }
}

// f(x + radius u) = phi(<x, z> + radius <u, z>): one product with the record serves both points.
void Glm::probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
                std::span<double> down) {
  probe_.load(row);
  along_.resize(std::max(along_.size(), tile.count));
  for (std::size_t j = 0; j < tile.count; ++j) along_[j] = dot(tile.row(j), probe_.record(), tile.stride);
  probe_.losses(*loss_, radius, std::span(along_).first(tile.count), up, down);
}

NumericSlack Glm::gradient_slack() const { return linear_slack; }

}  // namespace dpmpi
