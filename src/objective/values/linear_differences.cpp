// Central differences of linear models from P = X [U | w], formed tile by tile of U: one reading of the batch for
// each tile. Every entry of P is one chain of fused multiply-adds over the coordinates, so that neither the tiles
// nor the records beside it change its bits, and dense and sparse records with the same values have the same ones.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/errors.hpp"
#include "objective/class_weights.hpp"
#include "objective/math/chain_product.hpp"
#include "objective/math/losses.hpp"
#include "objective/math/softmax_tile.hpp"
#include "objective/values/difference_probe.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t coordinates_at_once = 256;  // of the product: its operands stay in the second-level cache

class LinearDifferences final : public ProjectedDifferences::Probe {
 public:
  LinearDifferences(const Objective& objective, Frames& frames, const DifferenceRule& rule)
      : phi_(objective.scalar_loss()),
        class_weights_(phi_ ? ClassWeights() : objective.class_weights()),
        frames_(frames),
        rule_(rule),
        outputs_(phi_ ? 1 : objective.classes()),
        dim_(objective.dim()),
        count_(frames.count()),
        softmax_(phi_ ? 1 : outputs_),
        along_(count_),
        chains_(count_ + 1),
        steps_(outputs_ * tile_rows),
        wide_(Panels::widest * coordinates_at_once) {}

  bool linear() const override { return true; }
  std::size_t readings() const override { return frames_.tiles(); }
  void prepare(std::span<const double> w) override { w_ = w; }
  void begin(std::size_t reading) override;
  void read(const Rows& rows) override { accumulate(rows); }
  const double* differences(const Rows& rows) override;

 private:
  /// margins[(c * (K + 1) + k) * stride + r] = <x_r, part c of u_k>; of w at k = K. Part c of a vector holds the
  /// coefficients of output c.
  struct Margins {
    double* values;
    std::size_t stride;
  };

  Margins accumulate(const Rows& rows);
  void add_dense(const Rows& rows, std::size_t features, const Margins& to);
  void add_sparse(const Rows& rows, std::size_t features, const Margins& to);
  void add_bias(const Rows& rows, std::size_t features, const Margins& to);
  void pack(const Rows& rows, std::size_t first, std::size_t count);
  void tile_differences(const Rows& rows, std::size_t first, const Margins& margins, double* q);
  double factor(const Records& records, std::uint32_t i) const;
  double label(const Records& records, std::uint32_t i) const;

  double* of(const Margins& m, std::size_t c, std::size_t k) const {
    return m.values + (c * (count_ + 1) + k) * m.stride;
  }
  /// Row `coordinate` of U, which is in the tile.
  const double* row(std::size_t coordinate) const { return tile_ + (coordinate - tile_first_) * count_; }
  /// What of coordinates [from, from + count) is in the tile.
  std::pair<std::size_t, std::size_t> in_tile(std::size_t from, std::size_t count) const {
    const std::size_t low = std::max(from, tile_first_), high = std::min(from + count, tile_end_);
    return {low, std::max(low, high)};
  }

  const ScalarLoss* phi_;       // of one output; null: softmax
  ClassWeights class_weights_;  // of the softmax; phi has its own within it
  Frames& frames_;
  DifferenceRule rule_;
  std::size_t outputs_, dim_, count_;
  std::span<const double> w_;

  const double* tile_ = nullptr;
  std::size_t tile_first_ = 0, tile_end_ = 0;
  std::size_t next_ = 0;  // where the margins of the next micro-batch stand

  SoftmaxTile softmax_;
  AlignedVector<double> along_;        // U^T w, for the ridge
  AlignedVector<double> margins_;      // of all micro-batches, or of one if one reading is enough
  AlignedVector<double> chains_;       // of one sparse record and output
  AlignedVector<double> steps_;        // outputs x tile_rows
  AlignedVector<double> wide_;         // 8-bit records as numbers
  AlignedVector<double> differences_;  // of a micro-batch
  Panels panels_;
};

void LinearDifferences::begin(std::size_t reading) {
  tile_first_ = reading * frames_.tile_rows();
  tile_end_ = std::min(dim_, tile_first_ + frames_.tile_rows());
  tile_ = frames_.tile(tile_first_, tile_end_ - tile_first_);
  next_ = 0;
  if (rule_.l2 == 0) return;
  if (reading == 0) std::fill(along_.begin(), along_.end(), 0.0);
  for (std::size_t j = tile_first_; j < tile_end_; ++j)
    for (std::size_t k = 0; k < count_; ++k) along_[k] = std::fma(w_[j], row(j)[k], along_[k]);
}

LinearDifferences::Margins LinearDifferences::accumulate(const Rows& rows) {
  const Records& records = rows.records;
  verify(outputs_ * (records.features + (records.bias != 0 ? 1 : 0)) == dim_, "records of the model's shape");
  const std::size_t stride = round_up(rows.size(), Panels::lanes), size = outputs_ * (count_ + 1) * stride;
  if (margins_.size() < next_ + size) margins_.resize(next_ + size);
  const Margins margins{margins_.data() + next_, stride};
  if (tile_first_ == 0) std::fill_n(margins.values, size, 0.0);
  if (readings() > 1) next_ += size;
  records.storage == Storage::sparse_f32 ? add_sparse(rows, records.features, margins)
                                         : add_dense(rows, records.features, margins);
  if (records.bias != 0) add_bias(rows, records.features, margins);
  return margins;
}

void LinearDifferences::add_dense(const Rows& rows, std::size_t features, const Margins& to) {
  for (std::size_t from = 0; from < features; from += coordinates_at_once) {
    const std::size_t count = std::min(coordinates_at_once, features - from);
    bool packed = false;
    for (std::size_t c = 0; c < outputs_; ++c) {
      const auto [low, high] = in_tile(c * features + from, count);
      if (low == high) continue;
      if (!packed) pack(rows, from, count);
      packed = true;
      const std::size_t skipped = low - (c * features + from);
      continue_chains({row(low), 1, count_}, count_, panels_, skipped, high - low, of(to, c, 0), to.stride);
      continue_chains({w_.data() + low, 0, 1}, 1, panels_, skipped, high - low, of(to, c, count_), to.stride);
    }
  }
}

/// Features first .. first + count - 1 of the rows.
void LinearDifferences::pack(const Rows& rows, std::size_t first, std::size_t count) {
  const Records& records = rows.records;
  panels_.resize(count, rows.size());
  for (std::size_t r = 0; r < rows.size(); r += Panels::widest) {
    const std::size_t now = std::min(Panels::widest, rows.size() - r);
    if (records.storage == Storage::dense_f32) {
      const float* values[Panels::widest];
      for (std::size_t i = 0; i < now; ++i) values[i] = records.row_f32(rows.index[r + i]) + first;
      panels_.pack_rows(r, now, values);
      continue;
    }
    const double* values[Panels::widest];
    for (std::size_t i = 0; i < now; ++i) {
      const std::uint32_t record = rows.index[r + i];
      const std::uint8_t* byte = records.row_u8(record) + first;
      const double scale = records.row_scale[record];
      double* wide = wide_.data() + i * coordinates_at_once;
      for (std::size_t j = 0; j < count; ++j) wide[j] = scale * byte[j];  // exact
      values[i] = wide;
    }
    panels_.pack_rows(r, now, values);
  }
}

void LinearDifferences::add_sparse(const Rows& rows, std::size_t features, const Margins& to) {
  const Records& records = rows.records;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto* begin = records.column.data() + records.row_begin[rows.index[r]];
    const auto* end = records.column.data() + records.row_begin[rows.index[r] + 1];
    for (std::size_t c = 0; c < outputs_; ++c) {
      const auto [low, high] = in_tile(c * features, features);
      if (low == high) continue;
      const auto* entry = std::lower_bound(begin, end, low - c * features);
      const auto* last = std::lower_bound(entry, end, high - c * features);
      double* const chain = chains_.data();
      for (std::size_t k = 0; k <= count_; ++k) chain[k] = of(to, c, k)[r];
      for (; entry != last; ++entry) {
        const double value = records.value[static_cast<std::size_t>(entry - records.column.data())];
        const std::size_t coordinate = c * features + *entry;
        const double* u = row(coordinate);
        for (std::size_t k = 0; k < count_; ++k) chain[k] = std::fma(u[k], value, chain[k]);
        chain[count_] = std::fma(w_[coordinate], value, chain[count_]);
      }
      for (std::size_t k = 0; k <= count_; ++k) of(to, c, k)[r] = chain[k];
    }
  }
}

void LinearDifferences::add_bias(const Rows& rows, std::size_t features, const Margins& to) {
  const double bias = rows.records.bias;
  for (std::size_t c = 0; c < outputs_; ++c) {
    const std::size_t coordinate = outputs_ * features + c;
    if (coordinate < tile_first_ || coordinate >= tile_end_) continue;
    for (std::size_t k = 0; k <= count_; ++k) {
      const double u = k < count_ ? row(coordinate)[k] : w_[coordinate];
      double* margin = of(to, c, k);
      for (std::size_t r = 0; r < to.stride; ++r) margin[r] = std::fma(u, bias, margin[r]);
    }
  }
}

/// min(1, Rx / |x|), with a norm that is never below |x|.
double LinearDifferences::factor(const Records& records, std::uint32_t i) const {
  const double norm = records.norm[i], bound = rule_.feature_bound;
  return bound > 0 && norm > bound ? bound / norm : 1.0;
}

/// Real labels within their bound; signs are -1 and +1, whatever a file says.
double LinearDifferences::label(const Records& records, std::uint32_t i) const {
  const double y = records.label[i];
  if (!phi_ || (is_quantity(phi_->label_kind()) && rule_.label_bound == 0)) return y;
  const double most = phi_->label_kind() == LabelKind::sign ? 1 : rule_.label_bound;
  return std::abs(y) > most ? std::copysign(most, y) : y;  // NaN stays NaN
}

const double* LinearDifferences::differences(const Rows& rows) {
  const Margins margins = accumulate(rows);
  const std::size_t size = round_up(rows.size(), tile_rows) * count_;
  if (differences_.size() < size) differences_.resize(size);
  for (std::size_t first = 0; first < rows.size(); first += tile_rows)
    tile_differences(rows, first, margins, differences_.data() + first * count_);
  return differences_.data();
}

/// The differences of records first .. first + tile_rows - 1; behind the last record the last one is repeated.
void LinearDifferences::tile_differences(const Rows& rows, std::size_t first, const Margins& margins, double* q) {
  double shrink[tile_rows], labels[tile_rows], weights[tile_rows], at[tile_rows], difference[tile_rows];
  for (std::size_t r = 0; r < tile_rows; ++r) {
    const std::uint32_t i = rows.index[std::min(first + r, rows.size() - 1)];
    shrink[r] = factor(rows.records, i);
    labels[r] = label(rows.records, i);
    weights[r] = rows.records.weight_of(i) * class_weights_.of_class(labels[r]);
  }
  for (std::size_t c = 0; c < outputs_; ++c) {
    const double* margin = of(margins, c, count_) + first;
    double* to = phi_ ? at : softmax_.logits(c).data();
    for (std::size_t r = 0; r < tile_rows; ++r) to[r] = shrink[r] * margin[r];
  }
  if (!phi_) softmax_.load(labels);
  for (std::size_t k = 0; k < count_; ++k) {
    for (std::size_t c = 0; c < outputs_; ++c) {
      const double* along = of(margins, c, k) + first;
      for (std::size_t r = 0; r < tile_rows; ++r) steps_[c * tile_rows + r] = rule_.radius * shrink[r] * along[r];
    }
    phi_ ? phi_->differences(at, steps_.data(), labels, difference)
         : softmax_.differences(steps_.data(), tile_rows, difference);
    if (!class_weights_.empty() || !rows.records.weight.empty())
      for (std::size_t r = 0; r < tile_rows; ++r) difference[r] *= weights[r];
    // The ridge's difference is exactly l2 <w, u_k>.
    for (std::size_t r = 0; r < tile_rows; ++r)
      q[r * count_ + k] = difference[r] / (2 * rule_.radius) + rule_.l2 * along_[k];
  }
}

}  // namespace

std::unique_ptr<ProjectedDifferences::Probe> linear_differences(const Objective& objective, Frames& frames,
                                                                const DifferenceRule& rule) {
  if (!ProjectedDifferences::linear(objective)) return nullptr;
  return std::make_unique<LinearDifferences>(objective, frames, rule);
}

}  // namespace dpmpi
