#pragma once
// Laws of losses on a grid: above the exact one, or below it, in the order in which every guarantee composes.

#include <cstdint>
#include <vector>

#include "privacy/loss_distributions/pairs.hpp"

namespace dpmpi {

/// The law of the loss of one use: mass[i] at loss anchor + place[i] step, `infinite` at infinity. Places ascend
/// and may leave points of the grid out. The total may differ from 1: more is above, less is below.
struct GridLaw {
  double step = 0, anchor = 0;
  std::vector<std::int64_t> place = {};
  std::vector<double> mass = {};
  double infinite = 0;
  double loss_error = 0;  ///< the bound holds once every loss is moved up (or down) by this

  double loss(std::size_t i) const { return anchor + step * static_cast<double>(place[i]); }
  /// From point i to the next; a step behind the last.
  double gap(std::size_t i) const {
    return i + 1 < place.size() ? step * static_cast<double>(place[i + 1] - place[i]) : step;
  }
};

/// Losses that a grid has to cover.
struct LossRange {
  double low = 0, high = 0;
};

/// P's losses fall below and above it with probability at most `tail` each, but for losses beyond +-600, whose
/// exponentials leave the range of doubles: above, they count as infinite.
LossRange loss_range(const LossPair& pair, double tail);

enum class Bound { upper, lower };

/// All points of the grid, however far from the anchor.
inline constexpr double everywhere = 1e18;

/// For measures (P, Q) write H_gamma = sup_S P(S) - gamma Q(S). `upper`: H_gamma of the law is at least the pair's
/// for every gamma > 0; `lower`: at most. Either carries over to any composition. Farther than `dense` steps from
/// the anchor, loss 0 and what lies between, points stand more and more apart: at a distance of x dense steps, x^2
/// steps or less. So rare losses far out cost little; and a law may have any points of a grid. Pairs with atoms
/// have all points.
GridLaw discretize(const LossPair& pair, LossRange range, double step, Bound bound, double dense = everywhere);

/// The step, at most `step`, with which `pair`'s second loss lies on the grid of its anchor; `step` if it has none
/// or none within a grid cell.
double aligned_step(const LossPair& pair, double step);

/// Some law close to the pair's, for choosing parameters only: (loss, log of the mass).
struct SketchPoint {
  double loss, log_mass;
};
std::vector<SketchPoint> sketch(const LossPair& pair, LossRange range);

}  // namespace dpmpi
