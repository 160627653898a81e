// The search for a good window and theta. Every point is a valid bound, so its quality decides about tightness
// only.

#include <array>
#include <iterator>
#include <map>

#include "dpmpi/core/errors.hpp"
#include "hidden_run.hpp"

namespace dpmpi {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

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
  if (rates.size() > 20000) rates.clear();
  const std::array key{map.contraction, map.retention, map.directions, map.dimension, theta};
  const auto [known, is_new] = rates.try_emplace(key, 0);
  if (is_new) known->second = chain_growth(map, theta, 0.5).log_rate;
  const double excess = map.directions == map.dimension ? 0 : -std::log(failure) / (2 * theta);
  return {known->second, excess};
}

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
  while (above - below > 2) {
    const std::uint64_t third = (above - below) / 3, left = below + third, right = above - third;
    if (at(left) < at(right))
      above = right;
    else
      below = left;
  }
  for (std::uint64_t window = below; window <= above; ++window) at(window);
  return best;
}

StretchBound search_coupling(const HiddenState& run, const Stretch& stretch, double failure, HiddenBound factors,
                             const std::function<double(std::uint64_t, const Growth&)>& cost) {
  StretchBound best{.stretch = stretch, .bound = factors, .mu = infinity};
  const std::uint64_t longest = std::min(stretch.isotropic, stretch.steps() - 1);
  if (longest == 0 || run.contraction > widest_contraction) return best;
  const StepMap map = step_map(run);
  const bool certain = run.directions == run.dimension;
  const auto offer = [&](const WindowOptimum& found, double theta, const Growth& growth) {
    if (found.value < best.mu)
      best.mu = found.value, best.window = found.window, best.theta = theta, best.growth = growth,
      best.failure = certain ? 0 : failure;
    return found.value;
  };

  if (factors != HiddenBound::chain) {
    if (failure / static_cast<double>(longest) < 1e-200) return best;  // beyond the library's quantiles
    verify(factors == HiddenBound::beta || factors == HiddenBound::bernstein, "a bound by coupling");
    const auto growth = [&](std::uint64_t window) {
      return factors == HiddenBound::beta ? beta_growth(map, window, failure)
                                          : bernstein_growth(map, window, failure);
    };
    const auto found = best_window([&](std::uint64_t window) { return cost(window, growth(window)); }, longest, 60);
    if (found.window > 0) offer(found, 0, growth(found.window));
    return best;
  }

  const auto at = [&](int index, int grid) {
    const double theta = theta_at(index);
    const Growth growth = chain_growth_at(map, theta, failure);
    return offer(best_window([&](std::uint64_t window) { return cost(window, growth); }, longest, grid), theta,
                 growth);
  };
  if (certain) return at(0, 160), best;
  int start = 0;
  double least = infinity;
  for (int index = 0; index <= most_theta; index += coarse_stride)
    if (const double value = at(index, 40); value < least) least = value, start = index;
  int low = std::max(0, start - coarse_stride), high = std::min(most_theta, start + coarse_stride);
  while (high - low > 2) {
    const int third = (high - low) / 3, left = low + third, right = high - third;
    if (at(left, 60) < at(right, 60))
      high = right;
    else
      low = left;
  }
  for (int index = low; index <= high; ++index) at(index, 120);
  return best;
}

}  // namespace dpmpi
