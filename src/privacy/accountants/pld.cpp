#include "privacy/accountants/pld.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/accountants/earlier.hpp"
#include "privacy/events/mechanism_counts.hpp"
#include "privacy/loss_distributions/compose.hpp"
#include "privacy/loss_distributions/grid.hpp"
#include "privacy/loss_distributions/pairs.hpp"
#include "privacy/loss_distributions/transform.hpp"

namespace dpmpi {

namespace {

// Results are rounded to nine digits, outwards, so that the last bits of a transform do not show.
double rounded(double x, double (*direction)(double), double nudge) {
  if (!(x > 0) || !std::isfinite(x)) return x;
  const double digits = 8 - std::floor(std::log10(x));
  if (digits > 300) return x * (1 + nudge);
  const double scale = std::pow(10.0, digits);
  return direction(x * (1 + nudge) * scale) / scale;
}
double raised(double x) {
  return rounded(
      x, [](double y) { return std::ceil(y); }, 0x1p-40);
}
double rounded_down(double x) {
  return rounded(
      x, [](double y) { return std::floor(y); }, -0x1p-40);
}

// One of the two directions of everything composed.
struct CountedPair {
  LossPair pair;
  LossPair attained;
  double count = 1;
};
struct Direction {
  std::vector<CountedPair> pairs;
  double uses = 0;
  bool attained = true;           // all pairs are
  bool judged_by_itself = false;  // see DominatingPair

  void add(const DominatingPair& dominating, const LossPair& pair, double count) {
    pairs.push_back({pair, dominating.attained ? *dominating.attained : pair, count});
    uses += count;
    attained = attained && !dominating.attained;
    judged_by_itself = judged_by_itself || dominating.judged_by_itself;
  }
};

std::vector<Direction> directions_of(const std::map<Mechanism, std::uint64_t>& uses, Adjacency adjacency) {
  Direction forward, backward;
  bool symmetric = true;
  long double mu_squared = 0;  // its range holds the square of every double
  for (const auto& [mechanism, uses_of_it] : uses) {
    const auto count = static_cast<double>(uses_of_it);
    if (const auto mu = gaussian_mu(mechanism)) {
      mu_squared += static_cast<long double>(count) * *mu * *mu;
      continue;
    }
    const DominatingPair dominating = dominating_pair(mechanism, adjacency);
    forward.add(dominating, dominating.pair, count);
    backward.add(dominating, dominating.symmetric ? dominating.pair : reversed(dominating.pair), count);
    symmetric = symmetric && dominating.symmetric;
  }
  if (mu_squared > 0) {
    // Above the rounding of the sum; tree_mu() may be high by 2^-39.
    const auto mu = static_cast<double>(std::sqrt(mu_squared));
    const CountedPair merged{gaussian_pair(mu * (1 + 0x1p-48)), gaussian_pair(mu * (1 - 0x1p-37)), 1};
    for (Direction* direction : {&forward, &backward}) {
      direction->pairs.push_back(merged);
      direction->uses += 1;
    }
  }
  if (forward.pairs.empty()) return {};  // only trees whose matrix is zero: outputs have the same law
  if (symmetric) return {forward};
  return {forward, backward};
}

// Cumulant generating function K(lambda) = log E e^(lambda L) of the sum, close to it, for choosing parameters.
class Sketch {
 public:
  Sketch(const Direction& direction, double tail) {
    for (const CountedPair& use : direction.pairs)
      parts_.push_back({sketch(use.pair, loss_range(use.pair, tail / direction.uses)), use.count});
  }
  double operator()(double tilt) const {
    double sum = 0;
    for (const auto& [points, count] : parts_) sum += count * log_moment(points, tilt);
    return sum;
  }

 private:
  struct Part {
    std::vector<SketchPoint> points;
    double count;
  };
  std::vector<Part> parts_;
};

// Minimum over x = e^u of a function that falls and then rises: a scan, then golden sections.
template <class F>
double minimizer(F f, double low, double high) {
  double best = low, least = infinity;
  for (double u = low; u <= high; u += 0.5)
    if (const double value = f(std::exp(u)); value < least) best = u, least = value;
  constexpr double golden = 0.6180339887498949;
  double a = best - 0.5, b = best + 0.5, left = b - golden * (b - a), right = a + golden * (b - a);
  double at_left = f(std::exp(left)), at_right = f(std::exp(right));
  for (int i = 0; i < 8; ++i) {
    if (at_left < at_right) {
      b = std::exchange(right, left), at_right = at_left;
      at_left = f(std::exp(left = b - golden * (b - a)));
    } else {
      a = std::exchange(left, right), at_left = at_right;
      at_right = f(std::exp(right = a + golden * (b - a)));
    }
  }
  return std::exp((a + b) / 2);
}

// The tilt whose Chernoff bound is best, and the losses that carry all but e^-30 of the tilted law.
struct Window {
  Focus focus;
  double high = 0;
  double width() const { return high - focus.low; }
};
Window window_for(const Sketch& k, double tilt) {
  constexpr double margin = 30, low = -14, high = 18;
  Window window;
  window.focus.tilt = tilt;
  const double at = k(tilt);
  const auto highest = [&](double x) { return (k(tilt + x) - at + margin) / x; };
  const auto lowest = [&](double x) { return (k(tilt - x) - at + margin) / x; };
  const auto width = [&] { return highest(window.focus.rise) + lowest(window.focus.fall); };
  window.focus.rise = minimizer(highest, low, high);
  window.focus.fall = minimizer(lowest, low, high);
  // Where losses end (a single use), the steepest tilts look best, but feel where exactly the grid ends.
  const double steepest = 400 / width();
  window.focus.rise = std::min(window.focus.rise, steepest);
  window.focus.fall = std::min(window.focus.fall, steepest);
  window.high = highest(window.focus.rise);
  window.focus.low = -lowest(window.focus.fall);
  return window;
}

constexpr double lowest_log_tilt = -14, highest_log_tilt = 16;

// About what ComposedLoss charges to delta for a transform of narrow laws at losses near 0.
double transform_error(const Sketch& k, double tilt, double width, double uses) {
  const double step = width * 0x1p-18, a = 2 * tilt;
  return uses * 0x1p-45 * std::exp(k(tilt)) * std::sqrt(2 / (step * a * (a + 1) * (a + 2)));
}

// For losses of which a rare one outweighs all others: few uses at small sampling rates. There the tilt of the best
// Chernoff bound makes many rare ones of one (its bound is far too large), and the window has to hold their sum.
// With a quarter of the tilt for a smaller delta, what lies outside the window is a small part of `delta` already
// where it lies, untilted, however far from the bulk.
Window window_for_rare(const Sketch& k, double delta) {
  constexpr double margin = 10;  // e^-10 of delta
  const double log_tail = std::log(delta) - margin;
  const double far = minimizer([&](double x) { return (k(x) - log_tail) / x; }, lowest_log_tilt, highest_log_tilt);
  Window window;
  window.focus.tilt = far / 4;
  window.focus.rise = far - window.focus.tilt;
  window.high = (k(far) - log_tail) / window.focus.rise;
  const auto lowest = [&](double x) { return (k(window.focus.tilt - x) - log_tail) / x; };
  window.focus.fall = std::min(minimizer(lowest, -14, 18), 400 / window.high);
  window.focus.low = -lowest(window.focus.fall);
  return window;
}

constexpr std::size_t smallest_size = 1u << 12, largest_size = 1u << 20;
constexpr double epsilon_close = 0x1p-13;

}  // namespace

// What is asked for: epsilon at a delta, or delta at an epsilon.
struct PldAccountant::Goal {
  bool epsilon;                        // wanted
  double given;                        // the other one
  double close;                        // stop at this relative width
  std::size_t largest = largest_size;  // or at this grid

  double answer(const ComposedLoss& loss) const { return epsilon ? loss.epsilon(given) : loss.delta(given); }
};

namespace {

// Everything that one direction needs for composing on finer and finer grids.
class Refinement {
 public:
  Refinement(const Direction& direction, bool epsilon_wanted, double given) : direction_(direction) {
    double tail = epsilon_wanted ? given * 0x1p-30 : 1e-60;
    if (!epsilon_wanted) {  // a Chernoff bound on delta tells which tails matter
      const Sketch k(direction, tail);
      const auto log_delta = [&](double x) { return k(x) - x * given + log_chernoff_factor(x); };
      const double least = log_delta(minimizer(log_delta, lowest_log_tilt, highest_log_tilt));
      tail = std::exp(std::clamp(least, -600.0, 0.0) - 30);
    }
    const Sketch k(direction, tail);
    const auto objective = [&](double x) {
      const double log_bound = k(x) + log_chernoff_factor(x);
      return epsilon_wanted ? (log_bound - std::log(given)) / x : log_bound - x * given;
    };
    window_ = window_for(k, minimizer(objective, lowest_log_tilt, highest_log_tilt));
    if (epsilon_wanted) {
      const Window rare = window_for_rare(k, given);
      const double error = transform_error(k, rare.focus.tilt, rare.width(), direction.uses);
      if (4 * rare.width() < window_.width() && error < 0x1p-6 * given) window_ = rare;
    }
    for (const CountedPair& use : direction.pairs) {
      ranges_.push_back(loss_range(use.pair, tail / direction.uses));
      attained_ranges_.push_back(loss_range(use.attained, tail / direction.uses));
      widest_ = std::max(widest_, ranges_.back().high - ranges_.back().low);
    }
  }

  // Not if almost all losses are beyond what the grids cover.
  bool possible() const { return std::isfinite(window_.high - window_.focus.low); }

  // Upper bounds are those of the dominating pairs, lower ones of what is attained.
  ComposedLoss compose(std::size_t size, Bound bound, Progress& progress) const {
    return compose(size, bound, bound == Bound::upper, progress);
  }
  // How low the dominating pairs could be for all that this grid shows. No lower bound for any mechanism.
  ComposedLoss compose_pairs_below(std::size_t size, Progress& progress) const {
    return compose(size, Bound::lower, true, progress);
  }

 private:
  ComposedLoss compose(std::size_t size, Bound bound, bool dominating, Progress& progress) const {
    const double step = step_for(size), dense = static_cast<double>(size);
    Focus focus = window_.focus;
    focus.size = size;
    while (step * static_cast<double>(focus.size - 2) < window_.high - focus.low && focus.size < 2 * largest_size)
      focus.size *= 2;
    std::vector<CountedLaw> laws;
    for (std::size_t i = 0; i < direction_.pairs.size(); ++i) {
      const CountedPair& use = direction_.pairs[i];
      laws.push_back(
          dominating ? CountedLaw{discretize(use.pair, ranges_[i], step, bound, dense), use.count}
                     : CountedLaw{discretize(use.attained, attained_ranges_[i], step, bound, dense), use.count});
      progress.add();
    }
    return {laws, focus, bound};
  }

  // A grid on which the atoms that matter most have their place.
  double step_for(std::size_t size) const {
    const double step = std::max((window_.high - window_.focus.low) / static_cast<double>(size - 2),
                                 widest_ / (32 * static_cast<double>(size)));
    const CountedPair* most = nullptr;
    const auto weight = [](const CountedPair& use) { return use.count * use.pair.span * use.pair.span; };
    for (const CountedPair& use : direction_.pairs)
      if (weight(use) > (most ? weight(*most) : 0)) most = &use;
    return most ? aligned_step(most->pair, step) : step;
  }

  const Direction& direction_;
  Window window_;
  std::vector<LossRange> ranges_, attained_ranges_;
  double widest_ = 0;
};

// The width of bounds falls with the square of the step.
std::size_t finer_size(std::size_t size, double times_too_wide) {
  const double ratio = std::sqrt(times_too_wide);
  return size * (ratio < 3 ? 2 : ratio < 5 ? 4 : ratio < 10 ? 8 : 16);
}

}  // namespace

PldAccountant::PldAccountant(Adjacency adjacency) : Accountant(adjacency) {}
PldAccountant::~PldAccountant() = default;

void PldAccountant::compose(const Event& event) {
  if (event.count == 0) return;
  if (const auto rounds = rounds_of(event)) return compose(*rounds);
  auto found = uses_.find(event.mechanism);
  if (found == uses_.end()) {
    check(event, "event");
    if (EarlierAccounting::on() && std::holds_alternative<WorGaussian>(event.mechanism))
      throw PrivacyError(fmt::format(
          "event wor_gaussian under {}: accountant pld has no dominating pair: none is proven for sums over samples "
          "without replacement",
          dpmpi::name(adjacency())));
    if (!std::holds_alternative<NonPrivate>(event.mechanism) && !gaussian_mu(event.mechanism))
      dominating_pair(event.mechanism, adjacency());  // or refuse
    found = uses_.emplace(event.mechanism, 0).first;
  }
  add_uses(found->second, event);
  epsilon_.clear();
  delta_.clear();
}

std::vector<double> PldAccountant::epsilons(const std::vector<double>& deltas) const {
  const KeptTransforms kept;
  std::vector<double> all;
  Grids known;
  for (const double delta : deltas) {
    all.push_back(known.points() > 0 ? epsilon_on(known, delta) : epsilon(delta));
    if (known.points() == 0) known = grids(delta);
  }
  return all;
}

void PldAccountant::recall(const PldAccountant& other) {
  if (other.adjacency() != adjacency() || other.uses_ != uses_) return;
  epsilon_.insert(other.epsilon_.begin(), other.epsilon_.end());
  delta_.insert(other.delta_.begin(), other.delta_.end());
}

// Every grid gives valid bounds, so the best of all count. The width shrinks with the square of the step where
// losses have smooth densities. Where a finer grid has moved neither bound, the rest of the width is what is
// charged for rounding and for losses beyond the grid, and no grid closes it.
PldAccountant::Interval PldAccountant::solve(const Goal& goal) const {
  const std::vector<Direction> directions = directions_of(uses_, adjacency());
  if (directions.empty()) return {0, 0};
  std::vector<Refinement> refinements;
  std::vector<Interval> intervals(directions.size(), {0, infinity});
  std::vector<double> own_least(directions.size(), 0.0);  // of the pairs, where they are judged by themselves
  for (const Direction& direction : directions) {
    refinements.emplace_back(direction, goal.epsilon, goal.given);
    if (!refinements.back().possible()) return {0, infinity};
  }

  const KeptTransforms kept;
  Interval all;
  const auto open = [&](const Interval& interval, double most) {
    const double wide = interval.most == infinity ? 1 : interval.most - interval.least - goal.close * most;
    return interval.most > all.least && wide > 0;
  };
  Progress progress("composing privacy losses", 0, "laws");
  for (std::size_t size = smallest_size; size <= goal.largest;) {
    const Interval before = std::exchange(all, {.least = all.least, .grids = all.grids});
    bool closed = true;
    for (std::size_t i = 0; i < directions.size(); ++i) {
      Interval& interval = intervals[i];
      if (size == smallest_size || open(interval, before.most)) {
        const double before_most = interval.most;
        interval.most = std::min(interval.most, goal.answer(refinements[i].compose(size, Bound::upper, progress)));
        interval.least =
            std::max(interval.least, goal.answer(refinements[i].compose(size, Bound::lower, progress)));
        (i == 0 ? all.grids.forward : all.grids.backward) = size;
        if (directions[i].judged_by_itself)
          own_least[i] = std::max(own_least[i], goal.answer(refinements[i].compose_pairs_below(size, progress)));
        const double may_fall =
            directions[i].judged_by_itself ? interval.most - own_least[i] : before_most - interval.most;
        if (!directions[i].attained) closed = closed && may_fall <= goal.close * interval.most;
      }
      all.least = std::max(all.least, interval.least);
      all.most = std::max(all.most, interval.most);
    }
    const double width = all.most - all.least, wanted = goal.close * all.most;
    const bool attained = directions.front().attained;
    if (all.least == infinity || (std::isfinite(width) && (attained ? width <= wanted : closed))) break;
    const bool finer = size > smallest_size && std::isfinite(before.most);
    if (finer && before.most - all.most <= wanted / 8 && all.least - before.least <= wanted / 8) break;
    all.settled = false;
    const double shown = directions.front().judged_by_itself ? all.most - std::ranges::max(own_least) : width;
    const bool foreseen = attained || directions.front().judged_by_itself;
    size = finer_size(size, foreseen && std::isfinite(shown) && wanted > 0 ? shown / wanted : 16);
  }
  const auto next = [&](std::size_t i, std::size_t points) {
    return !all.settled && i < intervals.size() && open(intervals[i], all.most) ? goal.largest : points;
  };
  const Grids finer{next(0, all.grids.forward), next(1, all.grids.backward)};
  return {rounded_down(all.least), raised(all.most), all.grids, finer, all.settled};
}

PldAccountant::Reach PldAccountant::grids_within(std::size_t largest, double delta) const {
  verify(delta > 0 && delta < 1, "delta in (0, 1)");
  if (uses_.empty() || uses_.count(NonPrivate{}) > 0 || epsilon_.count(delta) > 0) return {grids(delta)};
  const Interval interval = solve({true, delta, epsilon_close, largest});
  if (interval.settled) return {epsilon_.emplace(delta, interval).first->second.grids};
  return {interval.finer, false};
}

double PldAccountant::epsilon_on(const Grids& grids, double delta) const {
  verify(delta > 0 && delta < 1, "delta in (0, 1)");
  if (uses_.count(NonPrivate{}) > 0) return infinity;
  const KeptTransforms kept;
  double most = 0;
  Progress progress("composing privacy losses", 0, "laws");
  const std::vector<Direction> directions = directions_of(uses_, adjacency());
  for (std::size_t i = 0; i < directions.size(); ++i) {
    const std::size_t points = i == 0 || grids.backward == 0 ? grids.forward : grids.backward;
    verify(points >= smallest_size && points <= largest_size, "grids as grids() gave them");
    const Refinement refinement(directions[i], true, delta);
    if (!refinement.possible()) return infinity;
    most = std::max(most, refinement.compose(points, Bound::upper, progress).epsilon(delta));
  }
  return raised(most);
}

double PldAccountant::rough_epsilon(double delta) const {
  double most = epsilon_on({smallest_size, smallest_size}, delta);
  for (std::size_t size = 4 * smallest_size; size <= largest_size / 16; size *= 4) {
    const double before = std::exchange(most, std::min(most, epsilon_on({size, size}, delta)));
    if (before - most <= 0x1p-5 * most) break;
  }
  return most;
}

const PldAccountant::Interval& PldAccountant::epsilon_interval(double delta) const {
  verify(delta > 0 && delta < 1, "delta in (0, 1)");
  auto found = epsilon_.find(delta);
  if (found == epsilon_.end()) {
    Interval interval{0, 0};
    if (uses_.count(NonPrivate{}) > 0)
      interval = {infinity, infinity};
    else if (!uses_.empty())
      interval = solve({true, delta, epsilon_close});
    found = epsilon_.emplace(delta, interval).first;
  }
  return found->second;
}

const PldAccountant::Interval& PldAccountant::delta_interval(double epsilon) const {
  verify(epsilon >= 0, "epsilon >= 0");
  auto found = delta_.find(epsilon);
  if (found == delta_.end()) {
    Interval interval{0, 0};
    if (uses_.count(NonPrivate{}) > 0)
      interval = {1, 1};
    else if (!uses_.empty())
      interval = solve({false, epsilon, 0x1p-8});
    found = delta_.emplace(epsilon, interval).first;
  }
  return found->second;
}

double PldAccountant::epsilon(double delta) const { return epsilon_interval(delta).most; }
double PldAccountant::delta(double epsilon) const { return std::min(1.0, delta_interval(epsilon).most); }
double PldAccountant::least_epsilon(double delta) const { return epsilon_interval(delta).least; }
double PldAccountant::least_delta(double epsilon) const { return delta_interval(epsilon).least; }

}  // namespace dpmpi
