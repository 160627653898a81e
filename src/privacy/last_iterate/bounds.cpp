#include "privacy/last_iterate/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/round_up.hpp"
#include "privacy/last_iterate/run.hpp"

namespace dpmpi {

std::string_view name(HiddenBound bound) {
  constexpr std::string_view names[] = {"composition", "last_step", "chain", "beta", "bernstein"};
  return names[static_cast<std::size_t>(bound)];
}

std::vector<Stretch> stretches(const HiddenState& run) {
  std::vector<Stretch> list;
  const std::uint64_t hybrid_from = run.steps - run.hybrid;
  std::uint64_t begin = 0;
  const auto add = [&](std::uint64_t end) {
    list.push_back({begin, end, end > hybrid_from ? end - std::max(begin, hybrid_from) : 0});
    begin = end;
  };
  for (const std::uint64_t end : run.releases) add(end);
  if (run.releases.empty()) add(run.steps);
  return list;
}

std::uint64_t visits(const HiddenState& run, std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return 0;
  const std::uint64_t parts = run.parts;
  if (run.reshuffled) return (end - 1) / parts - begin / parts + 1;  // once in every pass that is touched
  return (end - begin - 1) / parts + 1;
}

StepMap step_map(const HiddenState& run) {
  return {run.contraction, run.retention, static_cast<double>(run.directions), static_cast<double>(run.dimension)};
}

RunNoise::RunNoise(const HiddenState& run) {
  const Real unit = run.noise_multiplier;
  const auto square = [&](double multiplier) { return unit * unit * multiplier * multiplier; };
  before = square(run.before_multiplier);
  directional = square(run.directional_multiplier);
  isotropic = square(run.isotropic_multiplier);
}

namespace {

// Sums of squares are exact to 64 bits; the margin of closing costs is far above that of their exponentials.
double rounded_root(Real squared_mu) { return round_up(std::sqrt(squared_mu) * (1 + 0x1p-54L)); }
constexpr Real closing_margin = 1 + 0x1p-36L;

// A record's visits before the hybrid steps and in them; their sum is bounded as well.
Real squared_composition(const HiddenState& run, std::uint64_t begin, std::uint64_t end) {
  const RunNoise noise(run);
  const std::uint64_t hybrid_from = run.steps - run.hybrid;
  std::uint64_t before = visits(run, begin, std::min(end, hybrid_from));
  std::uint64_t hybrid = visits(run, std::max(begin, hybrid_from), end);
  const std::uint64_t surplus = before + hybrid - std::min(before + hybrid, visits(run, begin, end));
  const Real cost_before = before ? 1 / noise.before : 0, cost_hybrid = hybrid ? 1 / noise.both() : 0;
  std::uint64_t& cheaper = cost_before < cost_hybrid ? before : hybrid;
  cheaper -= std::min(cheaper, surplus);
  return static_cast<Real>(before) * cost_before + static_cast<Real>(hybrid) * cost_hybrid;
}

void refuse_sampling(const HiddenState& run) {
  if (run.sampled())
    throw PrivacyError(
        "event hidden_state: with samples without replacement it is mu-GDP for no known mu; its bounds are Renyi curves");
}

}  // namespace

double gap_before(const HiddenState& run, const Stretch& stretch, std::uint64_t window) {
  return std::min(run.diameter, static_cast<double>(stretch.steps() - window) * run.drift);
}

// Where there is no directional noise, the isotropic noise hides the record's own shift of 1, too: a step costs
// (1 + a)^2 / s2^2. Charged at every step, also where parts leave the record out.
double closing_cost(const HiddenState& run, const Stretch& stretch, std::uint64_t window, const Growth& growth) {
  const double own_shift = run.directional_multiplier == 0 ? 1 : 0;
  const double gap = gap_before(run, stretch, window) * std::exp(growth.log_excess);
  return allocation(gap, growth.log_rate, run.error + own_shift, window);
}

namespace {

Real squared_coupling(const HiddenState& run, const RunNoise& noise, const Stretch& stretch, std::uint64_t window,
                      const Growth& growth) {
  if (gap_before(run, stretch, window) == 0) return squared_composition(run, stretch.begin, stretch.end);
  const Real closing = closing_cost(run, stretch, window, growth) * closing_margin / noise.isotropic;
  if (noise.directional == 0) return closing;
  return static_cast<Real>(visits(run, stretch.end - window, stretch.end)) / noise.directional + closing;
}

}  // namespace

double composition_mu(const HiddenState& run) {
  refuse_sampling(run);
  return rounded_root(squared_composition(run, 0, run.steps));
}

double last_step_mu(const HiddenState& run, const Stretch& stretch) {
  if (stretch.isotropic == 0) return infinity;
  const Real distance = static_cast<Real>(gap_before(run, stretch, 1)) + run.drift;
  return rounded_root(distance * distance / RunNoise(run).isotropic);
}

double coupling_mu(const HiddenState& run, const Stretch& stretch, std::uint64_t window, const Growth& growth) {
  refuse_sampling(run);
  verify(window >= 1 && window <= stretch.isotropic, "a window of steps with isotropic noise");
  return rounded_root(squared_coupling(run, RunNoise(run), stretch, window, growth));
}

StretchBound best_coupling(const HiddenState& run, const Stretch& stretch, double failure, HiddenBound factors) {
  const RunNoise noise(run);
  refuse_sampling(run);
  return search_coupling(run, stretch, failure, factors, [&](std::uint64_t window, const Growth& growth) {
    return rounded_root(squared_coupling(run, noise, stretch, window, growth));
  });
}

namespace {

// The smallest of all bounds of a stretch. Bernstein's bound on the quantiles is never below the quantiles.
StretchBound best_bound(const HiddenState& run, const Stretch& stretch, double failure) {
  StretchBound best{.stretch = stretch, .mu = rounded_root(squared_composition(run, stretch.begin, stretch.end))};
  const auto offer = [&](const StretchBound& other) {
    if (other.mu < best.mu) best = other;
  };
  offer({.stretch = stretch, .bound = HiddenBound::last_step, .mu = last_step_mu(run, stretch)});
  if (failure > 0)
    for (const HiddenBound factors : {HiddenBound::chain, HiddenBound::beta})
      offer(best_coupling(run, stretch, failure, factors));
  return best;
}

}  // namespace

HiddenTotal hidden_total(const HiddenState& run, double failure) {
  refuse_sampling(run);
  // First as if every stretch could use all of the failure; then it is shared by those that would.
  const std::vector<Stretch> all = stretches(run);
  const auto account = [&](double share) {
    HiddenTotal total;
    for (const Stretch& stretch : all) {
      const StretchBound* same = nullptr;
      for (const StretchBound& known : total.stretches)
        if (same_bounds(run, known.stretch, stretch)) same = &known;
      StretchBound bound = same ? *same : best_bound(run, stretch, share);
      bound.stretch = stretch;
      total.stretches.push_back(bound);
      total.failure += bound.failure;
    }
    return total;
  };
  HiddenTotal total = account(failure);
  const auto coupled = std::count_if(total.stretches.begin(), total.stretches.end(),
                                     [](const StretchBound& b) { return b.failure > 0; });
  if (coupled > 1) total = account(failure / static_cast<double>(coupled));
  Real squared = 0;
  bool any = false;
  for (const StretchBound& b : total.stretches) {
    squared += static_cast<Real>(b.mu) * b.mu;
    any = any || b.bound == HiddenBound::chain || b.bound == HiddenBound::beta;
  }
  total.mu = rounded_root(squared);
  // Failures of clips matter where two runs must contract, and nowhere else.
  total.failure = (total.failure + (any ? run.failure : 0)) * (1 + 0x1p-40);
  return total;
}

}  // namespace dpmpi
