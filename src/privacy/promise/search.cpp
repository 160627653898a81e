#include "privacy/promise/search.hpp"

#include <algorithm>
#include <limits>

namespace dpmpi {

namespace {

// Printed values have 6 decimals, or more where x has fewer than 7 significant digits by then.
double decimal_unit(double x) { return std::pow(10.0, std::max(6.0, 6 - std::floor(std::log10(x)))); }

}  // namespace

double on_grid(const Unknown& unknown, double x, double steps) {
  const double unit = unknown.whole ? 1 : decimal_unit(x);
  const double whole = unknown.protects ? std::ceil(x * unit) : std::floor(x * unit);
  return (unknown.protects ? whole + steps : whole - steps) / unit;
}

Search::Search(const Unknown& unknown, const EpsilonOf& epsilon_of, double epsilon, double resolution)
    : unknown_(unknown),
      epsilon_of_(epsilon_of),
      epsilon_(epsilon),
      resolution_(unknown.whole && resolution == fine ? 0 : resolution) {}

std::optional<double> Search::tightest(double start) {
  if (!bracket(start)) return std::nullopt;
  if (breaks_) narrow();
  if (unknown_.whole || keeps_->x == bound(false)) return keeps_->x;
  // A printable value between the two ends may keep the target, too.
  const double before = on_grid(unknown_, keeps_->x, -1);
  const bool open = breaks_ && (unknown_.protects ? before > breaks_->x : before < breaks_->x);
  for (double steps = open && inside(before) ? -1 : 0; inside(on_grid(unknown_, keeps_->x, steps)); ++steps)
    if (const double x = on_grid(unknown_, keeps_->x, steps); epsilon_of_(x) <= epsilon_) return x;
  return std::nullopt;
}

Search::Point Search::at(double x) const {
  const double e = epsilon_of_(x);
  const double excess = std::log(std::max(e, 1e-300) / epsilon_);
  return {x, e <= epsilon_ ? std::min(0.0, excess) : std::max(excess, std::numeric_limits<double>::min())};
}

// x moved by a factor e^stride towards more privacy (stride > 0) or less.
double Search::moved(double x, double stride) const {
  double y = x * std::exp(unknown_.protects ? stride : -stride);
  if (unknown_.whole) y = y > x ? std::max(std::floor(y), x + 1) : std::min(std::floor(y), x - 1);
  return std::clamp(y, unknown_.least, unknown_.most);
}

// Sets keeps_ and breaks_; breaks_ stays empty if nothing breaks the target. False if nothing keeps it.
bool Search::bracket(double start) {
  constexpr double first_stride = 0.7;
  Point p = at(std::clamp(start, unknown_.least, unknown_.most));
  // Epsilon falls at least as fast as 1/noise in most cases: this step is just long enough.
  double stride = std::min(first_stride, 1.05 * std::abs(p.excess) + std::max(1e-6, 2 * resolution_));
  for (; p.excess > 0; stride *= 4) {
    breaks_ = p;
    if (p.x == bound(true)) return false;
    p = at(moved(p.x, stride));
  }
  keeps_ = p;
  for (; !breaks_ && keeps_->x != bound(false); stride *= 4) {
    p = at(moved(keeps_->x, -stride));
    (p.excess > 0 ? breaks_ : keeps_) = p;
  }
  return true;
}

// Regula falsi with the weights of Anderson and Bjorck (1973) for ends that stay, and a bisection where three steps
// have not made the interval eight times smaller.
void Search::narrow() {
  Point keeps = *keeps_, breaks = *breaks_;
  const auto width = [&] { return std::abs(std::log(keeps.x / breaks.x)); };
  std::optional<bool> kept_before;
  double wide = width();
  for (int i = 1; !adjacent(keeps.x, breaks.x); ++i) {
    double share = breaks.excess / (breaks.excess - keeps.excess);
    const bool slow = i % 4 == 0 && width() > wide / 8;
    if (slow || !std::isfinite(share)) share = 0.5;
    if (i % 4 == 0) wide = width();
    const double x = std::exp(std::log(breaks.x) + share * std::log(keeps.x / breaks.x));
    const Point p = at(between(x, keeps.x, breaks.x));
    const bool kept = p.excess <= 0;
    Point& moves = kept ? keeps : breaks;
    Point& stays = kept ? breaks : keeps;
    if (kept == kept_before) {
      const double weight = 1 - p.excess / moves.excess;
      stays.excess *= weight > 0 ? weight : 0.5;
    }
    moves = p, kept_before = kept;
  }
  keeps_ = keeps, breaks_ = breaks;
}

bool Search::adjacent(double a, double b) const {
  return std::abs(std::log(a / b)) <= resolution_ || (unknown_.whole && std::abs(a - b) <= 1);
}

double Search::between(double x, double a, double b) const {
  const double low = std::min(a, b), high = std::max(a, b), margin = 0.4 * resolution_;
  const double y = std::clamp(x, low * (1 + margin), high * (1 - margin));
  return unknown_.whole ? std::clamp(std::floor(y), low + 1, high - 1) : y;
}

}  // namespace dpmpi
