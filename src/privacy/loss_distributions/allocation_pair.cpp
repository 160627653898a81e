#include "privacy/loss_distributions/allocation_pair.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <numbers>
#include <vector>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"

namespace dpmpi {
namespace {

// Likelihood ratios of the mean of m steps, M_m = (X_1 + ... + X_m) / m with X = e^(g/z - 1/(2z^2)), g standard
// normal. Every divergence is an expectation of a convex function of M, so it grows where values are spread with
// their mean kept, and falls where they are merged into their mean.
enum class RatioRounding { spread, merge };

/// A law of M under Q: values ascend, the first is 0; p = value * mass. What has no place among them is at 0 and at
/// infinity. Errors are relative: true masses are within mass_error of these, and the values that are spread or
/// merged within value_error of the true ones.
struct RatioLaw {
  std::vector<double> value, mass;
  double infinite = 0;  ///< mass of P at infinity
  double mass_error = 0, value_error = 0;
};

/// Of every cell [v_k, v_(k+1)) of a grid, the last without end: mass, and the mean of M - v_k times it.
struct RatioCells {
  std::vector<double> mass, excess;
  explicit RatioCells(std::size_t n) : mass(n, 0.0), excess(n, 0.0) {}
};

constexpr double normal_reach = 13;  ///< of normals: what lies beyond has a mass of 1e-38
constexpr double rare_mass = 1e-80;  ///< masses of both laws
constexpr double half_ulp = 0x1p-53;

/// Values for M_m. Between deviations they are 1/fineness of one apart, farther out in proportion to the distance
/// from 1, and below 1 in proportion to themselves. Any grid gives a bound.
std::vector<double> grid_of_ratios(double m, double z, double fineness) {
  const double spread = std::min(1 / (z * z), 200.0), half = spread / 2;
  const double deviation = std::sqrt(std::expm1(spread) / m);
  const double highest = std::exp(normal_reach / z + half), lowest = std::exp(-normal_reach / z - half);
  const double top = 1 + (highest - 1) / m + std::min(20 * deviation, highest);
  const double bottom = std::max(lowest, 1 - 17 * std::sqrt(std::exp(spread) / m));
  const double near = 1 / (3 * fineness), far = std::max(1.0, 1 / z) * near;
  const auto gap = [&](double v) {
    const double x = std::abs(v - 1);
    return std::min(std::max(deviation / fineness, x * (x < 10 * deviation ? near : far)), v / fineness);
  };
  std::vector<double> values{1};
  while (values.back() > bottom) values.push_back(values.back() - gap(values.back()));
  values.push_back(0);
  std::ranges::reverse(values);
  while (values.back() < top) values.push_back(values.back() + gap(values.back()));
  return values;
}

RatioLaw spread_law(const std::vector<double>& grid, const RatioCells& cells) {
  RatioLaw law{grid, std::vector<double>(grid.size(), 0.0)};
  const std::size_t last = grid.size() - 1;
  for (std::size_t k = 0; k < last; ++k) {
    const double up = std::min(cells.mass[k], cells.excess[k] / (grid[k + 1] - grid[k]));
    law.mass[k] += cells.mass[k] - up;
    law.mass[k + 1] += up;
  }
  law.mass[last] += cells.mass[last];
  law.infinite = cells.excess[last];
  return law;
}

RatioLaw merged_law(const std::vector<double>& grid, const RatioCells& cells) {
  RatioLaw law{{0}, {0}};
  for (std::size_t k = 0; k < grid.size(); ++k) {
    if (!(cells.mass[k] > 0)) continue;
    law.value.push_back(grid[k] + cells.excess[k] / cells.mass[k]);
    law.mass.push_back(cells.mass[k]);
  }
  return law;
}

/// Rare values go to 0 and infinity, which spreads them too; of a merged law they are left out.
void drop_rare(RatioLaw& law, RatioRounding rounding) {
  std::size_t kept = 1;
  for (std::size_t i = 1; i < law.value.size(); ++i) {
    const double q = law.mass[i], p = q * law.value[i];
    if (std::max(q, p) >= rare_mass) {
      law.value[kept] = law.value[i], law.mass[kept] = q, ++kept;
    } else if (rounding == RatioRounding::spread) {
      law.mass[0] += q, law.infinite += p;
    }
  }
  law.value.resize(kept), law.mass.resize(kept);
}

RatioLaw rounded_law(const std::vector<double>& grid, const RatioCells& cells, RatioRounding rounding) {
  RatioLaw law = rounding == RatioRounding::spread ? spread_law(grid, cells) : merged_law(grid, cells);
  drop_rare(law, rounding);
  return law;
}

/// Masses of a standard normal law between a and b > a, and a bound on the error.
struct NormalMass {
  Real value, error;
};
NormalMass normal_mass(Real a, Real b) {
  if (a + b < 0) return normal_mass(-b, -a);
  const Real above = std::erfc(a / std::numbers::sqrt2_v<Real>) / 2;
  const Real beyond = std::erfc(b / std::numbers::sqrt2_v<Real>) / 2;
  const Real t = std::isfinite(b) ? std::max(std::abs(a), std::abs(b)) : std::abs(a);
  return {std::max<Real>(above - beyond, 0), 0x1p-61L * (8 + t * t) * above};
}

/// The law of one X. Excesses are rounded down: a cell still holds what is moved for that, towards its lower end.
RatioLaw one_step(double z, double fineness, RatioRounding rounding) {
  const std::vector<double> grid = grid_of_ratios(1, z, fineness);
  const Real noise = z, shift = 1 / noise, most = std::numeric_limits<Real>::infinity();
  const auto normal = [&](std::size_t k) {  // g of the grid's value k
    if (k == 0) return -most;
    return k < grid.size() ? noise * std::log(static_cast<Real>(grid[k])) + shift / 2 : most;
  };
  RatioCells cells(grid.size());
  double mass_error = 0, value_error = 0;
  for (std::size_t k = 0; k < grid.size(); ++k) {
    const Real a = normal(k), b = normal(k + 1), v = grid[k];
    const NormalMass q = normal_mass(a, b), p = normal_mass(a - shift, b - shift);
    const Real error = p.error + v * q.error + 0x1p-62L * p.value;
    const Real excess = std::max<Real>(p.value - v * q.value - error, 0);
    cells.mass[k] = static_cast<double>(q.value);
    cells.excess[k] = static_cast<double>(excess) * (1 - 8 * half_ulp);
    if (!(std::max(q.value, p.value) >= rare_mass)) continue;
    // A cell ends at `room` times more than it begins; its values have moved by a part of that.
    const Real room = k > 0 && k + 1 < grid.size() ? std::min<Real>((grid[k + 1] - v) / v, 1) : 1;
    mass_error = std::max(mass_error, static_cast<double>(q.error / q.value));
    value_error = std::max(value_error, static_cast<double>(std::min<Real>(2 * error / excess, 1) * room));
  }
  RatioLaw law = rounded_law(grid, cells, rounding);
  law.mass_error = mass_error + 16 * half_ulp, law.value_error = value_error + 16 * half_ulp;
  return law;
}

/// RatioCells of the weighted mean of two independent ratios. Sums of one value of `x` and all of `y` in a cell
/// come first, so no number is the sum of more than as many as both have.
RatioCells cells_of_mean(const RatioLaw& x, double of_x, const RatioLaw& y, double of_y,
                         const std::vector<double>& grid) {
  RatioCells cells(grid.size());
  const double less = 1 - 2 * half_ulp * static_cast<double>(x.value.size() + y.value.size() + 8);
  const std::size_t last = grid.size() - 1, most = y.value.size();
  for (std::size_t i = 0; i < x.value.size(); ++i) {
    const double from = of_x * x.value[i];
    auto k = static_cast<std::size_t>(std::ranges::upper_bound(grid, from + of_y * y.value[0]) - grid.begin()) - 1;
    for (std::size_t j = 0; j < most; ++k) {
      const double end = k < last ? grid[k + 1] : infinity;
      double mass = 0, excess = 0;
      for (; j < most; ++j) {
        const double value = from + of_y * y.value[j];
        if (value >= end) break;
        mass += y.mass[j], excess += y.mass[j] * (value - grid[k]);
      }
      cells.mass[k] += x.mass[i] * mass;
      cells.excess[k] += x.mass[i] * excess * less;
    }
  }
  return cells;
}

/// The law of M of m + n steps. Masses are products, so their errors add; means keep the larger error of values.
RatioLaw mean_of(const RatioLaw& x, double m, const RatioLaw& y, double n, double z, double fineness,
                 RatioRounding rounding) {
  const std::vector<double> grid = grid_of_ratios(m + n, z, fineness);
  const double of_x = m / (m + n), of_y = n / (m + n);
  RatioLaw law = rounded_law(grid, cells_of_mean(x, of_x, y, of_y, grid), rounding);
  if (rounding == RatioRounding::spread) law.infinite += of_x * x.infinite + of_y * y.infinite;
  const double here = 4 * half_ulp * static_cast<double>(x.value.size() + y.value.size() + 8);
  law.mass_error = x.mass_error + y.mass_error + here;
  law.value_error = std::max(x.value_error, y.value_error) + here;
  return law;
}

/// By the binary digits of `steps`.
RatioLaw law_of_mean(std::uint64_t steps, double z, double fineness, RatioRounding rounding) {
  const RatioLaw one = one_step(z, fineness, rounding);
  RatioLaw law = one;
  double m = 1;
  for (int bit = static_cast<int>(std::bit_width(steps)) - 2; bit >= 0; --bit) {
    law = mean_of(law, m, law, m, z, fineness, rounding), m *= 2;
    if (steps >> bit & 1) law = mean_of(law, m, one, 1, z, fineness, rounding), m += 1;
  }
  return law;
}

/// Masses above and below the losses of a law of ratios.
class LossSteps {
 public:
  LossSteps(const RatioLaw& law, double scale) {
    const std::size_t n = law.value.size();
    p_below_.resize(n), q_below_.resize(n), p_above_.resize(n), q_above_.resize(n);
    for (std::size_t i = 1; i < n; ++i) losses_.push_back(std::log(law.value[i]));
    const auto q = [&](std::size_t i) { return static_cast<Real>(law.mass[i]) * scale; };
    for (std::size_t i = 1; i < n; ++i) {
      q_below_[i] = q_below_[i - 1] + q(i), p_below_[i] = p_below_[i - 1] + q(i) * law.value[i];
    }
    for (std::size_t i = n - 1; i > 0; --i)
      q_above_[i - 1] = q_above_[i] + q(i), p_above_[i - 1] = p_above_[i] + q(i) * law.value[i];
  }
  LossCut cut(double loss) const {
    const auto i = static_cast<std::size_t>(std::ranges::upper_bound(losses_, loss) - losses_.begin());
    const auto number = [](Real x) { return static_cast<double>(x); };
    return {number(p_above_[i]), number(p_below_[i]), number(q_above_[i]), number(q_below_[i]), 4 * half_ulp};
  }

 private:
  std::vector<double> losses_;
  std::vector<Real> p_below_, q_below_, p_above_, q_above_;  // of the first i losses, and of the others
};

/// Errors of masses and values raise (or lower) both measures, and move losses.
LossPair pair_of(const RatioLaw& law, RatioRounding rounding) {
  const double error = 2 * (law.mass_error + law.value_error) + 0x1p-48;
  const double scale = rounding == RatioRounding::spread ? 1 + error : 1 - error;
  const auto steps = std::make_shared<const LossSteps>(law, scale);
  LossPair pair;
  pair.cut = [steps](double loss) { return steps->cut(loss); };
  pair.loss_error = 2 * error;
  if (rounding == RatioRounding::merge) return pair;
  pair.infinite = law.infinite * scale;
  pair.vanished = law.mass[0] * scale;
  return pair;
}

constexpr std::uint64_t most_allocation_steps = 1ULL << 20;  ///< a record of more is hidden no worse
constexpr double fine_ratios = 32, coarse_ratios = 16;

DominatingPair computed_pair(std::uint64_t steps, double z) {
  return {pair_of(law_of_mean(steps, z, fine_ratios, RatioRounding::spread), RatioRounding::spread), false,
          pair_of(law_of_mean(steps, z, coarse_ratios, RatioRounding::merge), RatioRounding::merge)};
}

}  // namespace

DominatingPair allocation_pair(const RandomAllocationGaussian& m) {
  verify(m.selected == 1 && m.steps > 1 && least_allocation_noise <= m.noise_multiplier &&
             m.noise_multiplier <= most_allocation_noise,
         "one step of several");
  const std::uint64_t steps = std::min(m.steps, most_allocation_steps);
  struct Known {
    std::uint64_t steps;
    double z;
    DominatingPair pair;
  };
  constexpr std::size_t remembered = 32;
  thread_local std::deque<Known> known;
  const auto same = [&](const Known& k) { return k.steps == steps && k.z == m.noise_multiplier; };
  if (const auto found = std::ranges::find_if(known, same); found != known.end()) return found->pair;
  if (known.size() == remembered) known.pop_front();
  DominatingPair pair = computed_pair(steps, m.noise_multiplier);
  known.push_back({steps, m.noise_multiplier, pair});
  return pair;
}

}  // namespace dpmpi
