#include "objective/linear/steps.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "data/records/prefetch.hpp"
#include "objective/linear/row_products.hpp"
#include "objective/math/dot.hpp"
#include "objective/math/losses.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t fetched_at_once = 2 * tile_rows;
using TileOf = double[tile_rows];

/// What the coefficients of a tile depend on besides the margins. A record that does not count has limit 0.
struct TileData {
  TileOf weight, label, limit, row_scale;
};

TileData data_of(const Records& records, const Tile& tile, double cap) {
  TileData d;
  for (std::size_t r = 0; r < tile_rows; ++r) {
    const std::size_t i = tile.row[r];
    const double norm = records.norm[i], label = records.label[i];
    const double row_scale = records.storage == Storage::dense_u8 ? records.row_scale[i] : 1.0F;
    const bool counts = r < tile.count && norm > 0 && norm < infinity && std::abs(label) < infinity &&
                        std::abs(row_scale) < infinity;
    d.weight[r] = counts ? norm * norm : 1;
    d.label[r] = counts ? label : 0;
    // Down by more than the roundings of this quotient and of a coefficient times a row scale.
    d.limit[r] = counts ? cap / norm * (1 - 0x1p-51) : 0;
    d.row_scale[r] = counts ? row_scale : 0;
  }
  return d;
}

/// How many quanta an integer of the sweeps stands for: 1 unless the lattice is finer than 2^-50 of the cap.
int shift_of(double cap, const Lattice& lattice) { return std::max(0, lattice.k + std::ilogb(cap) + 1 - 50); }

}  // namespace

bool has_scalar_link(const Objective& objective) {
  return objective.scalar_loss() != nullptr && objective.scalar_loss()->convex();
}

bool has_steps(const Objective& objective, StepMode mode) {
  if (!has_scalar_link(objective)) return false;
  return mode == StepMode::proximal || std::isfinite(objective.scalar_loss()->curvature());
}

namespace {

const ScalarLoss& link_of(const Objective& objective) {
  if (!has_scalar_link(objective))
    throw ConfigError(
        "clamped steps are contractions only for a convex loss of one margin <w, x>: use an objective like "
        "squared, huber, absolute, pinball, logistic, hinge or poisson, or another method");
  objective.refuse_factors({}, "clamped steps");
  return *objective.scalar_loss();
}

}  // namespace

ClampedSteps::ClampedSteps(const Objective& objective)
    : objective_(objective), phi_(link_of(objective)), sweeps_(std::make_unique<RowSweeps>()) {}
ClampedSteps::~ClampedSteps() = default;

void ClampedSteps::check(const StepRule& rule) const {
  if (!has_steps(objective_, rule.mode))
    throw ConfigError("explicit steps need a loss whose second derivative is bounded: take proximal steps");
  if (!(rule.step > 0 && rule.step <= 1e100))
    throw ConfigError(fmt::format("a step of {}: it must be in (0, 1e100]", rule.step));
}

Kernel ClampedSteps::steps(std::span<const double> x, const StepRule& rule) {
  check(rule);
  verify(x.size() == objective_.dim(), "a point of another dimension");
  // So large that no projected iterate meets it, so small that no margin overflows.
  verify(std::all_of(x.begin(), x.end(), [](double v) { return std::abs(v) <= 1e150; }),
         "a point of size <= 1e150");
  sweeps_->set_point(x);
  rule_ = rule;
  return [this](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) { add(rows, bound, sum); };
}

/// From margins to multiples of records on the lattice.
struct ClampedSteps::Coefficients {
  const ScalarLoss& phi;
  StepRule rule;
  double cap;
  Lattice lattice;

  LatticeFactors operator()(const Records& records, const Tile& tile, TileOf& margin) const {
    const TileData data = data_of(records, tile, cap);
    for (std::size_t r = 0; r < tile_rows; ++r) margin[r] = data.limit[r] > 0 ? margin[r] : 0;
    TileOf c;
    if (rule.mode == StepMode::proximal) {
      phi.proximal(margin, data.weight, data.label, rule.step, data.limit, c);
    } else {
      phi.slopes(margin, data.label, c);
      for (std::size_t r = 0; r < tile_rows; ++r)
        c[r] *= std::min(rule.step, 1 / (phi.curvature() * data.weight[r]));
    }
    LatticeFactors factors;
    factors.shift = shift_of(cap, lattice);
    const double scale = std::ldexp(1.0, lattice.k - factors.shift);
    for (std::size_t r = 0; r < tile_rows; ++r) {
      const double clamped = std::min(std::max(c[r], -data.limit[r]), data.limit[r]) * scale;
      factors.bias[r] = data.limit[r] > 0 ? clamped : 0;
      factors.raw[r] = data.limit[r] > 0 ? clamped * data.row_scale[r] : 0;
    }
    return factors;
  }
};

void ClampedSteps::add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  verify(bound.clipping == Clipping::flat && sum.dim() == objective_.dim(), "one bound for all parameters");
  const Coefficients coefficients{phi_, rule_, bound.clip, sum.lattice()};
  const std::size_t at_once = std::min(tile_rows, sum.rows_at_once());
  const auto tile_at = [&](std::size_t first) {
    Tile tile = Tile::of(rows, first);
    tile.count = std::min(tile.count, at_once);
    return tile;
  };
  // Batches of a pass are few rows of each block, too few for the sweeps to fetch them for one another.
  for (const std::uint32_t i : rows.index.first(std::min(rows.size(), fetched_at_once))) prefetch(rows.records, i);
  tile_sum_.resize(sum.wide() == nullptr ? sum.dim() : 0);
  std::int64_t* const to = sum.wide() != nullptr ? sum.wide() : tile_sum_.data();
  TileOf margin;
  Tile tile = tile_at(0), next = tile_at(at_once);
  sweeps_->begin(rows.records, tile, next, margin);
  for (std::size_t first = 0; first < rows.size(); first += at_once) {
    const LatticeFactors factors = coefficients(rows.records, tile, margin);
    const Tile after = tile_at(first + 2 * at_once);
    sum.begin(tile.count);
    std::ranges::fill(tile_sum_, 0);
    next.count > 0 ? sweeps_->advance(factors, to, next, after, margin) : sweeps_->end(factors, to);
    for (std::size_t j = 0; j < tile_sum_.size(); ++j)
      sum.int32_scratch()[j] += static_cast<std::int32_t>(tile_sum_[j]);
    tile = next, next = after;
  }
}

void ClampedSteps::walk(const Rows& row, const StepRule& rule, const L2Bound& bound, const Lattice& lattice,
                        std::span<double> x) const {
  check(rule);
  verify(row.size() == 1 && x.size() == objective_.dim(), "one record and a point of its dimension");
  const std::size_t i = row.index[0];
  TileOf margin = {};
  margin[0] = RowSweeps::margin(row.records, i, x);
  const Coefficients coefficients{phi_, rule, bound.clip, lattice};
  RowSweeps::subtract(row.records, i, coefficients(row.records, Tile::of(row, 0), margin), lattice.quantum(), x);
}

// With u = 2^-53, R = radius and a record's computed squared norm w >= |a|^2: the margin is a chain of at most d +
// 16 roundings, off by (d + 16) u |a| R; coefficients change by at most 1 / w of that (explicit and proximal steps
// alike), so the contribution by (d + 16) u R. The coefficient itself is computed to 48 u of cap / |a|, roots by
// iteration included, but for what proximal_error() says; and each coordinate is rounded to a multiple of the
// quantum or of 2^-49 cap.
double ClampedSteps::error(const StepRule& rule, double radius, double cap, const Lattice& lattice) const {
  const auto d = static_cast<double>(objective_.dim());
  const double unit = std::ldexp(lattice.quantum(), shift_of(cap, lattice));
  const double iterated = rule.mode == StepMode::proximal ? phi_.proximal_error(rule.step) : 0;
  return ((d + 16) * radius + 48 * cap) * 0x1p-53 + iterated + std::sqrt(d) / 2 * unit;
}

}  // namespace dpmpi
