#include "dpmpi/privacy/pld_compose.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/privacy/pld_transform.hpp"

namespace dpmpi {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<SketchPoint> points_of(const GridLaw& law) {
  std::vector<SketchPoint> points;
  points.reserve(law.mass.size());
  for (std::size_t i = 0; i < law.mass.size(); ++i)
    points.push_back({law.loss(i), law.mass[i] > 0 ? std::log(law.mass[i]) : -infinity});
  return points;
}

// Of total masses that are 1 but for rounding, and mass at infinity: (1 - (1 - i)^n) t^n, in the direction of the
// bound (t^n - (t - i)^n is that with i/t for i).
struct InfiniteMass {
  double log_total = 0, log_finite = 0;

  void add(const GridLaw& law, double count, Bound bound) {
    const double total = std::accumulate(law.mass.begin(), law.mass.end(), law.infinite);
    log_total += count * std::log(bound == Bound::upper ? std::max(total, 1.0) : std::min(total, 1.0));
    log_finite += count * std::log1p(-std::min(law.infinite, 1.0));
  }
  double value() const { return std::exp(log_total) * -std::expm1(log_finite); }
};

}  // namespace

double log_moment(std::span<const SketchPoint> points, double tilt) {
  double peak = -infinity, sum = 0;
  for (const SketchPoint& x : points) peak = std::max(peak, x.log_mass + tilt * x.loss);
  if (peak == -infinity) return peak;
  for (const SketchPoint& x : points)
    if (const double below = x.log_mass + tilt * x.loss - peak; below > -80) sum += std::exp(below);
  return peak + std::log(sum);
}

double log_chernoff_factor(double tilt) { return -tilt * std::log1p(1 / tilt) - std::log1p(tilt); }

// The tilted law of a sum has e^(tilt loss) / E e^(tilt loss) times its mass and is the convolution of the tilted
// laws. The transform's errors are absolute, so they are relatively smallest where the tilted law is largest: with
// the right tilt that is around epsilon, far out in the tail of the sum's own law.
ComposedLoss::ComposedLoss(std::span<const CountedLaw> laws, const Focus& focus, Bound bound)
    : bound_(bound), step_(laws.front().law.step), tilt_(focus.tilt) {
  const auto size = static_cast<std::int64_t>(focus.size);
  double offset = 0, uses = 0, farthest = 0, rise = 0, fall = 0;
  InfiniteMass infinite;
  CircularPowers powers(focus.size);
  for (const auto& [law, count] : laws) {
    verify(law.step == step_, "one step for all laws");
    const std::vector<SketchPoint> points = points_of(law);
    const double moment = log_moment(points, tilt_);
    std::ranges::fill(powers.law(), 0.0);
    std::int64_t at = ((law.first % size) + size) % size;
    for (const SketchPoint& x : points) {
      powers.law()[static_cast<std::size_t>(at)] += std::exp(x.log_mass + tilt_ * x.loss - moment);
      at = at + 1 == size ? 0 : at + 1;
    }
    powers.multiply(count);
    infinite.add(law, count, bound);
    log_moment_ += count * moment;
    rise += count * (log_moment(points, tilt_ + focus.rise) - moment);
    fall += count * (log_moment(points, tilt_ - focus.fall) - moment);
    offset += count * law.anchor;
    uses += count;
    loss_error_ += count * law.loss_error;
    farthest = std::max({farthest, std::abs(points.front().loss), std::abs(points.back().loss)});
  }

  // Loss `offset` is element 0 of the circle.
  const double first = std::floor((focus.low - offset) / step_);
  verify(std::abs(first) < 0x1p62, "a window within 2^62 steps of 0");
  low_ = offset + first * step_;
  CircularPowers::Product product = powers.product();
  const auto start = ((static_cast<std::int64_t>(first) % size) + size) % size;
  std::rotate(product.mass.begin(), product.mass.begin() + start, product.mass.end());
  tilted_ = std::move(product.mass);
  const double error = bound == Bound::upper ? product.error : -product.error;
  for (double& mass : tilted_) mass = std::max(0.0, std::max(0.0, mass) + error);

  // Chernoff: what lies outside the window wraps around into it.
  const double high = low_ + step_ * static_cast<double>(size);
  const double above = std::min(0.0, rise - focus.rise * high),
               below = std::min(0.0, fall + focus.fall * (low_ - step_));
  log_outside_ = std::max(above, below) + std::log1p(std::exp(-std::abs(above - below)));
  relative_error_ = 0x1p-49 * (uses * (4 + tilt_ * farthest) + std::abs(log_moment_) + static_cast<double>(size));
  infinite_ = infinite.value();
  loss_error_ += 0x1p-49 * (std::abs(offset) + std::abs(low_) + high - low_);
}

// delta(l_j) at the grid's losses from above to below. With T_j = P{L >= l_j},
//
//   delta(l_(j-1)) = e^-step delta(l_j) + (1 - e^-step) T_j,
//
// all positive, and between grid points delta is linear in e^epsilon.
struct ComposedLoss::Walk {
  explicit Walk(const ComposedLoss& owner) : loss_(owner), index(owner.tilted_.size()) {}

  bool next() {
    if (index == 0) return false;
    above = within;
    within = above * keep + mass * (1 - keep);
    --index;
    if (loss_.tilted_[index] > 0) mass += loss_.tilted_[index] * std::exp(loss_.log_moment_ - loss_.tilt_ * here());
    return true;
  }
  double here() const { return loss_.low_ + loss_.step_ * static_cast<double>(index); }
  /// The loss between the last two points where delta is `target`.
  double solve(double target) const {
    const double share = std::clamp((target - above) / (within - above), 0.0, 1.0);
    return here() + loss_.step_ + std::log1p(-share * (1 - keep));
  }
  double at(double epsilon) const {
    const double share = std::clamp((1 - std::exp(epsilon - here() - loss_.step_)) / (1 - keep), 0.0, 1.0);
    return above + share * (within - above);
  }

  const ComposedLoss& loss_;
  std::size_t index;
  double keep = std::exp(-loss_.step_);
  double mass = 0;               // P{L >= here}
  double within = 0, above = 0;  // delta here and one point above
};

// How much mass outside the window can matter. Upper: losses above it are missing where they should count, with
// their own mass, e^(K - tilt L) times the tilted one. Lower: mass that wrapped counts where it should not, with at
// most the largest factor from tilted mass to a part of delta(loss).
double ComposedLoss::outside(double loss) const {
  if (bound_ == Bound::upper)
    return std::exp(log_moment_ - tilt_ * (low_ + step_ * static_cast<double>(tilted_.size())) + log_outside_);
  return std::exp(log_moment_ - tilt_ * loss + log_chernoff_factor(tilt_) + log_outside_);
}

double ComposedLoss::epsilon(double delta) const {
  const bool up = bound_ == Bound::upper;
  const double scale = std::exp(up ? -relative_error_ : relative_error_);
  // What the window's masses may give at `loss` for the total to be delta.
  const auto target = [&](double loss) {
    return up ? (delta - infinite_ / scale - outside(loss)) * scale
              : (delta - infinite_ / scale + outside(loss)) * scale;
  };
  const double constant = up ? target(0) : 0;
  if (up && !(constant >= 0)) return infinity;
  Walk walk(*this);
  while (walk.next()) {
    const double allowed = up ? constant : target(walk.here());
    if (walk.within > allowed)
      return std::max(0.0, up ? walk.solve(allowed) + loss_error_
                              : (allowed < 0 ? infinity : walk.solve(allowed)) - loss_error_);
    if (walk.here() < 0) return 0;
  }
  return up ? std::max(0.0, low_ + loss_error_) : 0;
}

double ComposedLoss::delta(double epsilon) const {
  const bool up = bound_ == Bound::upper;
  const double at = up ? epsilon - loss_error_ : epsilon + loss_error_;
  Walk walk(*this);
  double within = 0;
  if (up && at < low_) return 1;
  while (walk.here() > at && walk.next()) within = walk.here() > at ? walk.within : walk.at(at);
  const double scale = std::exp(up ? relative_error_ : -relative_error_);
  const double total = (within + infinite_) * scale + (up ? 1 : -1) * outside(std::max(at, walk.here()));
  return std::clamp(total, 0.0, 1.0);
}

}  // namespace dpmpi
