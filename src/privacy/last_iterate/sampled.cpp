// Runs whose batches are fresh samples without replacement: Renyi curves of amplified steps and of couplings.

#include <algorithm>
#include <cmath>
#include <numbers>

#include <boost/math/quadrature/gauss.hpp>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/curves/rdp_curves.hpp"
#include "privacy/curves/renyi_quadrature.hpp"
#include "privacy/last_iterate/run.hpp"

namespace dpmpi {

namespace {

struct RatioNode {
  double x, log_weight, log_ratio;  // log(weight * phi(x)), log X
};

// Gauss-Legendre panels that are short against the density's width and against the distance, pi / mu, of the
// nearest singularity of log X.
std::vector<RatioNode> ratio_nodes(double rate, double mu, double top) {
  using Rule = boost::math::quadrature::gauss<double, 16>;
  const double low = mu / 2, panel = std::min(0.5, 1.5 / mu);
  const auto panels = static_cast<std::size_t>(std::ceil((top - low) / panel));
  const double half = (top - low) / (2 * static_cast<double>(panels));
  std::vector<RatioNode> nodes;
  for (std::size_t i = 0; i < panels; ++i) {
    const double middle = low + (2 * static_cast<double>(i) + 1) * half;
    for (std::size_t j = 0; j < Rule::abscissa().size(); ++j)
      for (const double side : {-1.0, 1.0}) {
        const double x = middle + side * half * Rule::abscissa()[j];
        const double log_density = -x * x / 2 - std::log(2 * std::numbers::pi) / 2;
        nodes.push_back(
            {x, std::log(half * Rule::weights()[j]) + log_density, log_mixture(rate, mu * x - mu * mu / 2)});
      }
  }
  return nodes;
}

// log(1 + integral) / (a - 1); the integrand is positive.
double integrate(const std::vector<RatioNode>& nodes, double order, double top) {
  const auto log_integrand = [&](const RatioNode& n) {
    return n.log_weight + std::log(-std::expm1(-(order - 1) * n.log_ratio)) + log_expm1(order * n.log_ratio);
  };
  double peak = -infinity;
  for (const RatioNode& n : nodes)
    if (n.x <= top) peak = std::max(peak, n.log_weight + order * n.log_ratio);
  long double sum = 0;
  for (const RatioNode& n : nodes)
    if (n.x <= top && n.log_ratio > 0 && n.log_weight + order * n.log_ratio > peak - 60)
      sum += std::exp(log_integrand(n) - peak);
  return log1p_exp(peak + static_cast<double>(std::log(sum))) / (order - 1);
}

constexpr double farthest = 14;  // deviations beyond which nothing is left
constexpr double most_panels = 4096, widest = 0.5;

}  // namespace

std::vector<double> sampled_gaussian_curve(double rate, double mu, std::span<const double> orders) {
  verify(rate > 0 && rate <= 1 && mu >= 0, "a rate in (0, 1] and mu >= 0");
  const auto top_of = [&](double order) { return std::max(order * mu, mu / 2) + farthest; };
  const auto by_integral = [&](double order) {
    return std::isfinite(mu) && (top_of(order) - mu / 2) / std::min(widest, 1.5 / mu) <= most_panels &&
           order * mu * mu < 1e5;
  };
  double top = 0;
  for (const double order : orders)
    if (by_integral(order)) top = std::max(top, top_of(order));
  const std::vector<RatioNode> nodes = mu > 0 && top > 0 ? ratio_nodes(rate, mu, top) : std::vector<RatioNode>{};
  std::vector<double> curve;
  for (const double order : orders)
    curve.push_back(mu == 0              ? 0
                    : std::isinf(mu)     ? infinity
                    : by_integral(order) ? outward(integrate(nodes, order, top_of(order)))
                                         : outward(sampled_bound(rate, order * mu * mu / 2, order)));
  return curve;
}

namespace {

double rate_of(const HiddenState& run) {
  return static_cast<double>(run.batch) / static_cast<double>(run.population);
}
// Of one record over a deviation of sqrt(variance), rounded up; no noise is no protection.
double distance(Real variance) {
  return variance > 0 ? static_cast<double>(1 / std::sqrt(variance)) * (1 + 0x1p-40) : infinity;
}

// The curves of single steps of a run.
struct StepCurves {
  std::vector<double> before, both, directional;

  StepCurves(const HiddenState& run, std::span<const double> orders) {
    const RunNoise noise(run);
    const auto curve = [&](Real variance) {
      return sampled_gaussian_curve(rate_of(run), distance(variance), orders);
    };
    before = run.hybrid < run.steps ? curve(noise.before) : std::vector<double>(orders.size(), 0.0);
    both = run.hybrid > 0 ? curve(noise.both()) : std::vector<double>(orders.size(), 0.0);
    directional = run.hybrid > 0 ? curve(noise.directional) : std::vector<double>(orders.size(), 0.0);
  }
};

std::vector<double> composed(const StepCurves& steps, const Stretch& stretch) {
  std::vector<double> curve;
  for (std::size_t i = 0; i < steps.both.size(); ++i)
    curve.push_back(static_cast<double>(stretch.steps() - stretch.isotropic) * steps.before[i] +
                    static_cast<double>(stretch.isotropic) * steps.both[i]);
  return curve;
}

// The best window at each order; the growth of the factors is given.
class CouplingCurve {
 public:
  CouplingCurve(const HiddenState& run, const Stretch& stretch, std::span<const double> orders,
                const std::vector<double>& directional)
      : run_(run), stretch_(stretch), orders_(orders), directional_(directional) {}

  std::uint64_t longest() const { return std::min(stretch_.isotropic, stretch_.steps() - 1); }

  WindowOptimum at(std::size_t i, const Growth& growth, int grid) const {
    const auto isotropic = static_cast<double>(RunNoise(run_).isotropic);
    return best_window(
        [&](std::uint64_t window) {
          const double closing = closing_cost(run_, stretch_, window, growth);
          return outward(static_cast<double>(window) * directional_[i] + orders_[i] * closing / (2 * isotropic));
        },
        longest(), grid);
  }
  std::vector<double> curve(const Growth& growth, int grid) const {
    std::vector<double> result;
    for (std::size_t i = 0; i < orders_.size(); ++i) result.push_back(at(i, growth, grid).value);
    return result;
  }

 private:
  const HiddenState& run_;
  const Stretch& stretch_;
  std::span<const double> orders_;
  const std::vector<double>& directional_;
};

}  // namespace

std::vector<double> sampled_composition_curve(const HiddenState& run, std::span<const double> orders) {
  const StepCurves steps(run, orders);
  return composed(steps, {0, run.steps, run.hybrid});
}

std::vector<double> sampled_coupling_curve(const HiddenState& run, const Stretch& stretch, const Growth& growth,
                                           std::span<const double> orders) {
  const StepCurves steps(run, orders);
  return CouplingCurve(run, stretch, orders, steps.directional).curve(growth, 160);
}

namespace {

// The theta of the chain bound that gives the smallest epsilon at `left`, by curves on a few of the orders; 0 if
// none gives any.
double best_theta(const HiddenState& run, const Stretch& stretch, double failure, double left,
                  std::span<const double> orders, const std::vector<double>& directional) {
  std::vector<double> few, few_directional;
  for (std::size_t i = 0; i < orders.size(); i += 1 + i / 6)
    few.push_back(orders[i]), few_directional.push_back(directional[i]);
  const CouplingCurve sketch(run, stretch, few, few_directional);
  const StepMap map = step_map(run);
  double theta = 0, smallest = infinity;
  for (double candidate = 0.5; candidate < 2e4; candidate *= 1.25) {
    const auto curve = sketch.curve(chain_growth_at(map, candidate, failure), 24);
    if (const double e = rdp_to_epsilon(few, curve, left).value; e < smallest) smallest = e, theta = candidate;
  }
  return theta;
}

// One stretch with all its candidates; the best is the one with the smallest epsilon at `left`.
struct SampledStretch {
  StretchBound bound;
  std::vector<double> curve;
};

SampledStretch sampled_stretch(const HiddenState& run, const Stretch& stretch, double failure, double left,
                               std::span<const double> orders, const StepCurves& steps) {
  const auto best_place = [&](const std::vector<double>& curve) {
    const double order = rdp_to_epsilon(orders, curve, left).order;
    return static_cast<std::size_t>(std::find(orders.begin(), orders.end(), order) - orders.begin());
  };
  SampledStretch best{{.stretch = stretch}, composed(steps, stretch)};
  double least = rdp_to_epsilon(orders, best.curve, left).value;
  const auto offer = [&](const StretchBound& bound, const std::vector<double>& curve) {
    if (const double e = rdp_to_epsilon(orders, curve, left).value; e < least) least = e, best = {bound, curve};
  };
  if (const double mu = last_step_mu(run, stretch); std::isfinite(mu))
    offer({.stretch = stretch, .bound = HiddenBound::last_step}, linear_curve(mu * mu / 2, orders));
  const CouplingCurve coupling(run, stretch, orders, steps.directional);
  const bool possible = failure > 0 && coupling.longest() > 0;
  if (const double theta = possible ? best_theta(run, stretch, failure, left, orders, steps.directional) : 0;
      theta > 0) {
    const Growth growth = chain_growth_at(step_map(run), theta, failure);
    const std::vector<double> curve = coupling.curve(growth, 48);
    offer({.stretch = stretch,
           .bound = HiddenBound::chain,
           .window = coupling.at(best_place(curve), growth, 48).window,
           .theta = theta,
           .growth = growth,
           .failure = run.directions == run.dimension ? 0 : failure},
          curve);
  }
  const std::size_t i = best_place(best.curve);
  best.bound.mu = std::sqrt(2 * best.curve[i] / orders[i]);
  return best;
}

}  // namespace

HiddenCurve hidden_curve(const HiddenState& run, double failure, double delta, std::span<const double> orders) {
  verify(run.sampled(), "a run that samples");
  const std::vector<Stretch> all = stretches(run);
  const StepCurves steps(run, orders);
  const double share = failure / static_cast<double>(all.size()), left = delta * (1 - 2 * failure_share);
  HiddenCurve total{.stretches = {}, .curve = std::vector<double>(orders.size(), 0.0)};
  bool any = false;
  std::vector<SampledStretch> known;
  for (const Stretch& stretch : all) {
    const auto same = std::find_if(known.begin(), known.end(), [&](const SampledStretch& k) {
      return same_bounds(run, k.bound.stretch, stretch);
    });
    SampledStretch part = same != known.end() ? *same : sampled_stretch(run, stretch, share, left, orders, steps);
    if (same == known.end()) known.push_back(part);
    part.bound.stretch = stretch;
    for (std::size_t i = 0; i < orders.size(); ++i) total.curve[i] += part.curve[i];
    total.failure += part.bound.failure;
    any = any || part.bound.bound == HiddenBound::chain;
    total.stretches.push_back(part.bound);
  }
  total.failure = (total.failure + (any ? run.failure : 0)) * (1 + 0x1p-40);
  return total;
}

}  // namespace dpmpi
