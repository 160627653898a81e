// The search for a good window and theta. Every point is a valid bound, so its quality decides about tightness
// only.

#include <array>
#include <iterator>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/last_iterate/run.hpp"

namespace dpmpi {

namespace {

// Candidates for theta: a fixed grid, so that the series behind them are summed once.
constexpr double least_theta = 0.5, theta_step = 0.002;
constexpr int most_theta = 5298;  // 2e4
constexpr int coarse_stride = 230;
// No window closes a gap that grows like this, and c^2 must not overflow.
constexpr double widest_contraction = 1e3;
double theta_at(int index) { return least_theta * std::exp(theta_step * index); }

}  // namespace

Growth chain_growth_at(const StepMap& map, double theta, double failure) {
  thread_local std::map<std::array<double, 5>, double> rates;
  const std::array key{map.contraction, map.retention, map.directions, map.dimension, theta};
  const double rate = remembered(rates, 20000, key, [&] { return chain_growth(map, theta, 0.5).log_rate; });
  return {rate, map.directions == map.dimension ? 0 : -std::log(failure) / (2 * theta)};
}

namespace {

// Cuts thirds off [low, high] until two steps are left, around the smallest value of f if it falls and then rises.
template <class Place, class F>
void cut_thirds(Place& low, Place& high, F f) {
  while (high - low > 2) {
    const Place third = (high - low) / 3, left = low + third, right = high - third;
    if (f(left) < f(right))
      high = right;
    else
      low = left;
  }
}

}  // namespace

WindowOptimum best_window(const std::function<double(std::uint64_t)>& cost, std::uint64_t longest, int grid) {
  WindowOptimum best;
  const auto at = [&](std::uint64_t window) {
    const double value = cost(window);
    if (value < best.value) best = {window, value};
    return value;
  };
  std::vector<std::uint64_t> windows;
  for (int i = 0; i < grid; ++i) {
    const double power = std::exp(std::log(static_cast<double>(longest)) * i / (grid - 1));
    const auto window = std::clamp(static_cast<std::uint64_t>(std::llround(power)), std::uint64_t{1}, longest);
    if (windows.empty() || window > windows.back()) windows.push_back(window);
  }
  for (const std::uint64_t window : windows) at(window);
  if (best.window == 0) return best;
  const auto found = std::find(windows.begin(), windows.end(), best.window);
  std::uint64_t below = found == windows.begin() ? *found : *std::prev(found);
  std::uint64_t above = std::next(found) == windows.end() ? *found : *std::next(found);
  cut_thirds(below, above, at);
  for (std::uint64_t window = below; window <= above; ++window) at(window);
  return best;
}

namespace {

// One search for a stretch: of all that is tried the best is kept.
class CouplingSearch {
 public:
  using Cost = std::function<double(std::uint64_t, const Growth&)>;

  CouplingSearch(const HiddenState& run, const Stretch& stretch, std::uint64_t longest, double failure,
                 HiddenBound factors, const Cost& cost)
      : map_(step_map(run)),
        longest_(longest),
        failure_(failure),
        cost_(cost),
        best_{.stretch = stretch, .bound = factors, .mu = infinity} {}

  /// Beta or Bernstein: bounds that hold at each step of a window.
  StretchBound by_quantiles() {
    if (failure_ / static_cast<double>(longest_) < 1e-200) return best_;  // beyond the library's quantiles
    verify(best_.bound == HiddenBound::beta || best_.bound == HiddenBound::bernstein, "a bound by coupling");
    const auto growth = [&](std::uint64_t window) {
      return best_.bound == HiddenBound::beta ? beta_growth(map_, window, failure_)
                                              : bernstein_growth(map_, window, failure_);
    };
    const auto found =
        best_window([&](std::uint64_t window) { return cost_(window, growth(window)); }, longest_, 60);
    if (found.window > 0) offer(found, 0, growth(found.window));
    return best_;
  }

  /// The chain bound, which has a theta.
  StretchBound by_chain() {
    if (is_certain()) return at_theta(0, 160), best_;
    int start = 0;
    double least = infinity;
    for (int index = 0; index <= most_theta; index += coarse_stride)
      if (const double value = at_theta(index, 40); value < least) least = value, start = index;
    int low = std::max(0, start - coarse_stride), high = std::min(most_theta, start + coarse_stride);
    cut_thirds(low, high, [&](int index) { return at_theta(index, 60); });
    for (int index = low; index <= high; ++index) at_theta(index, 120);
    return best_;
  }

 private:
  bool is_certain() const { return map_.directions == map_.dimension; }  // no frame is a matter of luck

  double at_theta(int index, int grid) {
    const double theta = theta_at(index);
    const Growth growth = chain_growth_at(map_, theta, failure_);
    const auto found = best_window([&](std::uint64_t window) { return cost_(window, growth); }, longest_, grid);
    offer(found, theta, growth);
    return found.value;
  }

  void offer(const WindowOptimum& found, double theta, const Growth& growth) {
    if (!(found.value < best_.mu)) return;
    best_.mu = found.value, best_.window = found.window, best_.theta = theta, best_.growth = growth;
    best_.failure = is_certain() ? 0 : failure_;
  }

  StepMap map_;
  std::uint64_t longest_;
  double failure_;
  const Cost& cost_;
  StretchBound best_;
};

}  // namespace

StretchBound search_coupling(const HiddenState& run, const Stretch& stretch, double failure, HiddenBound factors,
                             const std::function<double(std::uint64_t, const Growth&)>& cost) {
  const std::uint64_t longest = std::min(stretch.isotropic, stretch.steps() - 1);
  if (longest == 0 || run.contraction > widest_contraction)
    return {.stretch = stretch, .bound = factors, .mu = infinity};
  CouplingSearch search(run, stretch, longest, failure, factors, cost);
  return factors == HiddenBound::chain ? search.by_chain() : search.by_quantiles();
}

}  // namespace dpmpi
