#include "privacy/loss_distributions/compose.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"

namespace dpmpi {

namespace {

constexpr double smallest_log = -746;  // exponentials of less are 0 in doubles

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

// A tilted law's total has to be 1 to the last bits, because its power of `count` is taken: what a plain sum of a
// million terms loses, 10^-12, is 10^-5 after 10^7 uses, more than some tails. So the sum is compensated
// (Neumaier).
double log_moment(std::span<const SketchPoint> points, double tilt) {
  double peak = -infinity, sum = 0, lost = 0;
  for (const SketchPoint& x : points) peak = std::max(peak, x.log_mass + tilt * x.loss);
  if (peak == -infinity) return peak;
  for (const SketchPoint& x : points) {
    const double below = x.log_mass + tilt * x.loss - peak;
    if (below <= -80) continue;
    const double term = std::exp(below), next = sum + term;
    lost += sum >= term ? sum - next + term : term - next + sum;
    sum = next;
  }
  return peak + std::log(sum + lost);
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
    const std::span<double> tilted = powers.law();
    std::ranges::fill(tilted, 0.0);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double log_mass = points[i].log_mass + tilt_ * points[i].loss - moment;
      if (log_mass < smallest_log) continue;  // 0 in doubles, which takes long to find out
      tilted[static_cast<std::size_t>(law.place[i]) & (focus.size - 1)] += std::exp(log_mass);
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
  charge(product);

  // Chernoff: what lies outside the window wraps around into it.
  const double high = low_ + step_ * static_cast<double>(size);
  const double above = std::min(0.0, rise - focus.rise * high),
               below = std::min(0.0, fall + focus.fall * (low_ - step_));
  log_outside_ = std::max(above, below) + std::log1p(std::exp(-std::abs(above - below)));
  relative_error_ = 0x1p-49 * (uses * (4 + tilt_ * farthest) + std::abs(log_moment_) + static_cast<double>(size));
  infinite_ = infinite.value();
  loss_error_ += 0x1p-49 * (std::abs(offset) + std::abs(low_) + high - low_);
}

// The transform's errors count in delta(epsilon) as much as masses do: with w_j = e^(K - tilt l_j) (1 - e^(epsilon
// - l_j)) for each tilted one. Either every mass moves by the largest error of one, so that delta moves by that
// times the sum of the w_j; or, by Cauchy and Schwarz, delta moves by the root of the sum of all squared errors
// times that of all w_j^2. The first suits laws whose transforms vanish at most frequencies. The second suits those
// that are narrow on their grid: few uses of a mechanism that rarely tells anything.
void ComposedLoss::charge(const CircularPowers::Product& product) {
  const double one = std::exp(2 * log_chernoff_factor(tilt_)), twice = 2 * tilt_;  // the largest square
  const double all = 1 / (step_ * tilt_ * (tilt_ + 1)) + std::sqrt(one);
  const double squares = 2 / (step_ * twice * (twice + 1) * (twice + 2)) + one;
  const double norm = product.norm_of_errors * std::sqrt(squares) * (1 + 0x1p-40);
  const bool each = product.error * all <= 4 * norm;
  log_transform_ = each ? -infinity : std::log(norm);
  const double error = !each ? 0 : bound_ == Bound::upper ? product.error : -product.error;
  for (double& mass : tilted_) mass = std::max(0.0, std::max(0.0, mass) + error);
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

double ComposedLoss::transform(double loss) const {
  return log_transform_ == -infinity ? 0 : std::exp(log_moment_ - tilt_ * loss + log_transform_);
}

double ComposedLoss::epsilon(double delta) const {
  const bool up = bound_ == Bound::upper;
  const double scale = std::exp(up ? -relative_error_ : relative_error_);
  // What the window's masses may give at `loss` for the total to be delta.
  const double always = up ? outside(0) : 0;
  const auto target = [&](double loss) {
    const double charged = (up ? always : outside(loss)) + transform(loss);
    return up ? (delta - infinite_ / scale - charged) * scale : (delta - infinite_ / scale + charged) * scale;
  };
  Walk walk(*this);
  if (up && !(target(walk.here()) >= 0)) return infinity;
  while (walk.next()) {
    const double allowed = target(walk.here());
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
  const double where = std::max(at, walk.here());
  const double total = (within + infinite_) * scale + (up ? 1 : -1) * (outside(where) + transform(where));
  return std::clamp(total, 0.0, 1.0);
}

}  // namespace dpmpi
