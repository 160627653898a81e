#pragma once
// Shared by the sources of bounds.hpp.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "core/numbers/real.hpp"
#include "privacy/last_iterate/bounds.hpp"

namespace dpmpi {

/// Variances over s^2.
struct RunNoise {
  explicit RunNoise(const HiddenState& run);
  Real before = 0, directional = 0, isotropic = 0;
  Real both() const { return directional + isotropic; }
};

/// How far apart the runs can be when the last `window` steps of the stretch begin.
double gap_before(const HiddenState& run, const Stretch& stretch, std::uint64_t window);
/// Sum of squared shifts that close this gap within the window.
double closing_cost(const HiddenState& run, const Stretch& stretch, std::uint64_t window, const Growth& growth);

/// Whether two stretches have the same bounds.
inline bool same_bounds(const HiddenState& run, const Stretch& a, const Stretch& b) {
  return a.steps() == b.steps() && a.isotropic == b.isotropic &&
         (!run.reshuffled || a.begin % run.parts == b.begin % run.parts);
}

/// exp(chain_exponent / (2 theta)) does not depend on the noise or the failure: remembered for the thetas of
/// searches.
Growth chain_growth_at(const StepMap& map, double theta, double failure);

/// A function of windows that falls and then rises, at its smallest on a grid and then between its neighbours.
struct WindowOptimum {
  std::uint64_t window = 0;
  double value = std::numeric_limits<double>::infinity();
};
WindowOptimum best_window(const std::function<double(std::uint64_t)>& cost, std::uint64_t longest, int grid);

/// The smallest cost(window, growth) over windows and, for the chain bound, theta.
StretchBound search_coupling(const HiddenState& run, const Stretch& stretch, double failure, HiddenBound factors,
                             const std::function<double(std::uint64_t, const Growth&)>& cost);

/// What `compute` gives for this key: computed once, and anew after the `most` keys that are kept. If it throws,
/// nothing is kept: an empty entry would be a run that costs nothing.
template <class Key, class Value, class Compute>
const Value& remembered(std::map<Key, Value>& known, std::size_t most, const Key& key, Compute compute) {
  if (known.size() > most) known.clear();
  const auto found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, compute()).first->second;
}

/// hidden_total and hidden_curve, remembered: mu is exactly proportional to 1 / noise_multiplier, and accountants
/// ask again and again. The curve is valid until the next call.
HiddenTotal remembered_total(const HiddenState& run, double failure);
const HiddenCurve& remembered_curve(const HiddenState& run, double failure, double delta,
                                    std::span<const double> orders);

/// A failure probability by powers of ten: delta(epsilon) = min over them of bound(failure), which falls and then
/// rises as the failure does. bound returns the delta with everything included.
double least_delta_over_failures(double start, const std::function<double(double)>& bound);

}  // namespace dpmpi
