#include "objective/values/zeroth_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "objective/joint_clip.hpp"
#include "objective/math/dot.hpp"
#include "objective/takes_part.hpp"

namespace dpmpi {
namespace {

/// The probes with m filled in, if they make sense.
Probes checked(Probes probes, std::size_t dim) {
  if (probes.count == 0) probes.count = dim;
  if (!(probes.radius > 0 && std::isfinite(probes.radius)))
    throw ConfigError(fmt::format("the smoothing radius is {}, allowed: a finite number > 0", probes.radius));
  if (!(probes.scalar_clip >= 0 && std::isfinite(probes.scalar_clip)))
    throw ConfigError(fmt::format(
        "the clip of directional slopes is {}, allowed: a finite number > 0, or 0 for none", probes.scalar_clip));
  if (probes.centre && probes.count < 2)
    throw ConfigError(fmt::format("centring with {} direction, allowed: two or more", probes.count));
  return probes;
}

/// phi, where the estimator given U^T z has a closed form.
const ScalarLoss* fast_loss(const Objective& objective, const Probes& probes) {
  const bool haar = probes.scheme == DirectionScheme::haar && probes.count == objective.dim();
  return probes.fast && haar ? objective.scalar_loss() : nullptr;
}

double distance(std::span<const double> x, std::span<const double> y) {
  double square = 0;
  for (std::size_t k = 0; k < y.size(); ++k) square += (x[k] - y[k]) * (x[k] - y[k]);
  return std::sqrt(square);
}

}  // namespace

ZerothOrder::ZerothOrder(Objective& objective, const Probes& probes)
    : objective_(objective),
      losses_(objective),
      probes_(checked(probes, objective.dim())),
      phi_(fast_loss(objective, probes_)),
      // The fast estimator needs one vector: p, drawn as the first direction.
      directions_(phi_ ? DirectionScheme::iid : probes_.scheme, objective.dim(), phi_ ? 1 : probes_.count,
                  probes_.block, probes_.seed),
      estimate_(directions_.stride()),
      direction_sum_(probes_.centre && !phi_ ? directions_.stride() : 0) {
  if (phi_ != nullptr) linear_ = std::make_unique<LinearProbe>(objective.dim());
  const std::size_t at_once = phi_ ? objective.dim() : directions_.tile_count();
  up_.resize(at_once);
  down_.resize(at_once);
}

Kernel ZerothOrder::gradient(std::span<const double> x, std::uint64_t step, double weight) {
  return kernel(Kind::gradient, x, {}, step, weight);
}

Kernel ZerothOrder::difference(std::span<const double> x, std::span<const double> y, std::uint64_t step,
                               double weight) {
  verify(!y.empty(), "a difference has two points");
  return kernel(Kind::difference, x, y, step, weight);
}

Kernel ZerothOrder::kernel(Kind kind, std::span<const double> x, std::span<const double> y, std::uint64_t step,
                           double weight) {
  verify(step < (std::uint64_t{1} << 32), "steps are counted in 32 bits");
  verify(weight > 0 && weight <= 1, "the weight of a record is 1 / (size of the batch)");
  linear_ ? linear_->prepare(x, y) : losses_.prepare(x, y);
  kind_ = kind;
  step_ = static_cast<std::uint32_t>(step);
  weight_ = weight;
  largest_slope_ = std::numeric_limits<double>::infinity();
  if (probes_.scalar_clip > 0)
    largest_slope_ =
        kind == Kind::gradient ? probes_.scalar_clip : probes_.scalar_clip * distance(x, y) / probes_.radius;
  // Only `this` is captured, so that a step allocates nothing.
  return [this](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) { add(rows, bound, sum); };
}

void ZerothOrder::add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  verify(bound.clipping == Clipping::flat, "estimates of zeroth order are clipped as one vector");
  verify(rows.slot.empty() || rows.slot.size() == rows.size(), "every row has a slot");
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Rows row{rows.records, rows.index.subspan(r, 1)};
    const auto slot = rows.slot.empty() ? static_cast<std::uint32_t>(r) : rows.slot[r];
    if (estimate(row, slot).empty()) continue;
    const double norm = std::sqrt(squared_norm(estimate_.data(), estimate_.size()));
    const double factor = std::min(weight_, bound.clip / norm);
    for (double& v : estimate_) v *= factor;
    sum.begin(1);
    sum.add(0, std::span<const double>(estimate_).first(objective_.dim()));
  }
}

std::function<void(const Rows&, std::span<double>)> ZerothOrder::sizes_of_gradients(std::span<const double> x,
                                                                                    double weight, double clip) {
  kernel(Kind::gradient, x, {}, 0, weight);
  return [this, over = weight / clip](const Rows& rows, std::span<double> out) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto slot = rows.slot.empty() ? static_cast<std::uint32_t>(r) : rows.slot[r];
      const auto whole = estimate(Rows{rows.records, rows.index.subspan(r, 1)}, slot);
      out[r] = std::sqrt(squared_norm(whole.data(), whole.size())) * over;
    }
  };
}

std::span<const double> ZerothOrder::estimate(const Rows& row, std::uint32_t slot) {
  verify(row.size() == 1 && weight_ > 0, "one record at a time, after gradient() or difference()");
  if (!takes_part(row.records, row.index[0])) return {};
  if (!(linear_ ? estimate_linear(row, slot) : estimate_generic(row, slot))) return {};
  // An infinite norm would be clipped to C / infinity * infinity, which is NaN.
  if (!std::isfinite(squared_norm(estimate_.data(), estimate_.size()))) return {};
  return std::span(estimate_).first(objective_.dim());
}

/// Both write to estimate_ and say whether all slopes are finite.
bool ZerothOrder::estimate_generic(const Rows& row, std::uint32_t slot) {
  const std::size_t m = probes_.count;
  const bool centre = probes_.centre && kind_ == Kind::difference;
  double slope_sum = 0;
  std::fill(estimate_.begin(), estimate_.end(), 0.0);
  std::fill(direction_sum_.begin(), direction_sum_.end(), 0.0);
  for (std::size_t first = 0; first < m;) {
    const DirectionTile tile = directions_.tile(step_, slot, first);
    losses_.probe(row, probes_.radius, tile, std::span(up_).first(tile.count), std::span(down_).first(tile.count));
    if (!slopes(tile.count)) return false;
    for (std::size_t j = 0; j < tile.count; ++j) {
      add_scaled(up_[j], tile.row(j), estimate_.data(), tile.stride);
      slope_sum += up_[j];
      if (centre) add_scaled(1, tile.row(j), direction_sum_.data(), tile.stride);
    }
    first += tile.count;
  }
  // sum_j (c_j - mean) u_j = sum_j c_j u_j - mean sum_j u_j: the mean is known last.
  if (centre)
    add_scaled(-slope_sum / static_cast<double>(m), direction_sum_.data(), estimate_.data(), estimate_.size());
  const double scale = static_cast<double>(objective_.dim()) / static_cast<double>(centre ? m - 1 : m);
  for (double& v : estimate_) v *= scale;
  return true;
}

/// q z / |z| with q = sum_j c_j p_j, where c_j is the slope along <u_j, z> = |z| p_j. Zero for a record z = 0.
bool ZerothOrder::estimate_linear(const Rows& row, std::uint32_t slot) {
  const std::size_t m = probes_.count;
  linear_->load(row);
  const double norm = linear_->norm();
  const double* p = directions_.tile(step_, slot, 0).row(0);
  linear_->losses(*phi_, probes_.radius * norm, std::span(p, m), up_, down_);
  if (!row.records.weight.empty())
    for (auto* losses : {&up_, &down_})
      for (double& loss : *losses) loss *= row.records.weight_of(row.index[0]);
  if (!slopes(m)) return false;
  if (probes_.centre && kind_ == Kind::difference) {
    double mean = 0;
    for (const double c : up_) mean += c;
    mean /= static_cast<double>(m);
    for (double& c : up_) c = (c - mean) * static_cast<double>(m) / static_cast<double>(m - 1);
  }
  const double q = norm > 0 ? dot(up_.data(), p, m) / norm : 0.0;
  for (std::size_t k = 0; k < estimate_.size(); ++k) estimate_[k] = q * linear_->record()[k];
  return true;
}

/// Turns pairs of losses into slopes (in up_) within the scalar clip. False if one is not finite: then the record
/// contributes zero. This comes first, because clipping would let NaN through.
bool ZerothOrder::slopes(std::size_t count) {
  const double width = kind_ == Kind::gradient ? 2 * probes_.radius : probes_.radius;
  std::size_t bad = 0;  // counted without branches, so that the loop becomes vector code
  for (std::size_t j = 0; j < count; ++j) {
    up_[j] = (up_[j] - down_[j]) / width;  // not finite if one of the losses is not
    bad += std::abs(up_[j]) < infinity ? 0U : 1U;
  }
  if (bad > 0) return false;
  if (largest_slope_ < infinity)
    for (std::size_t j = 0; j < count; ++j) up_[j] = std::clamp(up_[j], -largest_slope_, largest_slope_);
  return true;
}

// The factor is min(weight, C / norm) with a weight of at most 1. Squares that underflow are below 2^-1022 and
// weigh nothing against any clip >= 2^-100 (the lattice takes no smaller one).
NumericSlack ZerothOrder::slack(std::size_t dim) { return joint_clip_slack(dim); }

}  // namespace dpmpi
