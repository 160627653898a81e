// What accountants and certificates ask about a run with hidden iterates.

#include <tuple>
#include <utility>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/curves/rdp_curves.hpp"
#include "privacy/last_iterate/run.hpp"

namespace dpmpi {

HiddenTotal remembered_total(const HiddenState& run, double failure) {
  using Key = std::pair<HiddenState, double>;
  thread_local std::map<Key, HiddenTotal> known;
  HiddenState unit = run;
  unit.noise_multiplier = 1;
  HiddenTotal total = remembered(known, 1000, Key{unit, failure}, [&] { return hidden_total(unit, failure); });
  const auto scale = [&](double& mu) { mu = mu / run.noise_multiplier * (1 + 0x1p-50); };
  scale(total.mu);
  for (StretchBound& bound : total.stretches) scale(bound.mu);
  return total;
}

const HiddenCurve& remembered_curve(const HiddenState& run, double failure, double delta,
                                    std::span<const double> orders) {
  using Key = std::tuple<HiddenState, double, double, std::vector<double>>;
  thread_local std::map<Key, HiddenCurve> known;
  return remembered(known, 100, Key{run, failure, delta, {orders.begin(), orders.end()}},
                    [&] { return hidden_curve(run, failure, delta, orders); });
}

double least_delta_over_failures(double start, const std::function<double(double)>& bound) {
  double best = start;
  int worse = 0;
  for (int exponent = 1; exponent <= 40 && worse < 3; ++exponent) {
    const double failure = std::pow(10.0, -exponent);
    if (failure >= best) continue;
    const double value = bound(failure);
    worse = value < best ? 0 : worse + 1;
    best = std::min(best, value);
  }
  return best;
}

namespace {

// Epsilon of a mu that holds outside of a failure.
double epsilon_outside(double mu, double failure, double delta) {
  const double left = (delta - failure) * (1 - 0x1p-50);
  return left > 0 ? gdp_epsilon(mu, left) : infinity;
}

double all_last_steps(const HiddenState& run) {
  Real squared = 0;
  for (const Stretch& stretch : stretches(run)) {
    const Real mu = last_step_mu(run, stretch);
    squared += mu * mu;
  }
  return static_cast<double>(std::sqrt(squared)) * (1 + 0x1p-50);
}

void explain_sampled(const HiddenState& run, HiddenExplanation& e) {
  const std::vector<double>& orders = rdp_orders();
  const HiddenCurve& hidden = remembered_curve(run, failure_share * e.delta, e.delta, orders);
  const double left = (e.delta - hidden.failure) * (1 - 0x1p-50);
  e.hidden_epsilon = left > 0 ? rdp_to_epsilon(orders, hidden.curve, left).value : infinity;
  e.composition_epsilon = rdp_to_epsilon(orders, sampled_composition_curve(run, orders), e.delta).value;
  e.stretches = hidden.stretches;
}

}  // namespace

HiddenExplanation explain(const HiddenState& run, Adjacency adjacency, double delta) {
  verify(delta > 0 && delta < 1, "delta in (0, 1)");
  check({run, 1}, "event");
  if (run.sampled()) require_replace_one(run, adjacency);
  HiddenExplanation e{.delta = delta};
  const double last = all_last_steps(run);
  e.last_step_epsilon = std::isfinite(last) ? gdp_epsilon(last, delta) : infinity;
  if (run.sampled()) {
    explain_sampled(run, e);
  } else {
    const HiddenTotal total = remembered_total(run, failure_share * delta);
    e.mu = total.mu;
    e.hidden_epsilon = epsilon_outside(total.mu, total.failure, delta);
    e.composition_epsilon = gdp_epsilon(composition_mu(run), delta);
    e.stretches = total.stretches;
  }
  for (const StretchBound& bound : e.stretches) {
    e.coupling_failure += bound.failure;
    if (bound.bound == HiddenBound::chain || bound.bound == HiddenBound::beta) e.clip_failure = run.failure;
  }
  e.epsilon = std::min({e.hidden_epsilon, e.composition_epsilon, e.last_step_epsilon});
  e.used = e.epsilon == e.composition_epsilon ? "composition"
           : e.epsilon == e.hidden_epsilon    ? "hidden"
                                              : "last_step";
  return e;
}

// With noise energy E = sqrt(K s1^2 + d s2^2) / s and share f the bound is mu^2 = (P / f + Q / (1 - f)) / E^2 with
// P = visits K and Q = (closing cost) d; the best f makes it (sqrt P + sqrt Q) / E.
HiddenDesign design(const HiddenState& run, double failure) {
  HiddenState hybrid = run;
  hybrid.hybrid = run.steps;
  hybrid.directional_multiplier = hybrid.isotropic_multiplier = 1;
  const Stretch last = stretches(hybrid).back();
  const auto K = static_cast<double>(run.directions), d = static_cast<double>(run.dimension);
  // Amplification by a sample of rate q divides mu^2 by 1 / q^2 to first order.
  const double rate = run.sampled() ? static_cast<double>(run.batch) / static_cast<double>(run.population) : 1;
  const auto own = [&](std::uint64_t begin) {
    return rate * std::sqrt(static_cast<double>(visits(run, begin, last.end)) * K);
  };
  const auto closing = [&](std::uint64_t window, const Growth& growth) {
    return std::sqrt(closing_cost(hybrid, last, window, growth) * d);
  };
  HiddenDesign best{.energy_mu = own(last.begin)};
  for (const HiddenBound factors : {HiddenBound::chain, HiddenBound::beta}) {
    const auto found = search_coupling(hybrid, last, failure, factors, [&](std::uint64_t window, const Growth& g) {
      return own(last.end - window) + closing(window, g);
    });
    if (found.mu >= best.energy_mu) continue;
    const double directional = own(last.end - found.window);
    best = {found.window, found.theta, directional / found.mu, found.mu};
  }
  return best;
}

}  // namespace dpmpi
