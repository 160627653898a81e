#include "privacy/accountants/rdp.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/accountants/earlier.hpp"
#include "privacy/accountants/gdp.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/curves/rdp_curves.hpp"
#include "privacy/curves/strategy.hpp"
#include "privacy/events/group.hpp"
#include "privacy/last_iterate/bounds.hpp"

namespace dpmpi {
namespace {

void check_orders(std::span<const double> orders) {
  for (const double a : orders)
    if (!(a > 1 && a <= rdp_largest_order))
      throw PrivacyError("Renyi order " + std::to_string(a) + ", allowed: numbers in (1, 2048]");
}

}  // namespace

std::optional<double> zcdp_rho(const Mechanism& mechanism) {
  const auto of_noise = [](double z) { return 1 / (2 * z * z); };
  const auto of_gdp = [](double mu) { return mu * mu / 2; };
  if (const auto* m = std::get_if<Gaussian>(&mechanism)) return of_noise(m->noise_multiplier);
  if (const auto* m = std::get_if<DiscreteGaussian>(&mechanism)) return of_noise(m->noise_multiplier);
  if (const auto* m = std::get_if<PoissonGaussian>(&mechanism); m && m->sampling_rate == 1)
    return of_noise(m->noise_multiplier);
  if (const auto* m = std::get_if<PoissonDiscreteGaussian>(&mechanism); m && m->sampling_rate == 1)
    return of_noise(m->noise_multiplier);
  if (const auto* m = std::get_if<PoissonGaussianGroup>(&mechanism); m && m->sampling_rate == 1)
    return zcdp_rho(drawn_together(*m));
  if (const auto* m = std::get_if<CyclicPoissonGaussian>(&mechanism); m && m->sampling_rate == 1)
    return static_cast<double>(m->rounds()) * of_noise(m->noise_multiplier);
  // Who knows the record's steps sees no more than so many Gaussians.
  if (const auto* m = std::get_if<RandomAllocationGaussian>(&mechanism))
    return static_cast<double>(m->selected) * of_noise(m->noise_multiplier);
  if (const auto* m = std::get_if<Tree>(&mechanism)) return of_gdp(tree_mu(*m));
  if (const auto* m = std::get_if<Gdp>(&mechanism)) return of_gdp(m->mu);
  if (const auto* m = std::get_if<HiddenState>(&mechanism); m && !m->sampled()) return of_gdp(composition_mu(*m));
  if (const auto* m = std::get_if<Zcdp>(&mechanism)) return m->rho;
  return {};
}

namespace {

template <class Wor>
std::vector<double> wor_curve(const Wor& m, Adjacency adjacency, Orders orders) {
  require_replace_one(m, adjacency);
  const double rate = static_cast<double>(m.batch) / static_cast<double>(m.population);
  std::vector<double> curve = wor_gaussian_curve(rate, m.noise_multiplier, orders);
  if (std::is_same_v<Wor, WorDiscreteGaussian> || EarlierAccounting::on()) return curve;
  const std::vector<double> of_pair = sampled_gaussian_curve(rate, 1 / m.noise_multiplier, orders);
  for (std::size_t i = 0; i < curve.size(); ++i) curve[i] = std::min(curve[i], of_pair[i]);
  return curve;
}

// All events of a run of a RepeatAndSelect. What holds but for a part of delta has no place in its theorem.
void check_run(const RepeatAndSelect& m) {
  for (const Event& event : m.run) {
    const auto* dp = std::get_if<ApproxDp>(&event.mechanism);
    const auto* zcdp = std::get_if<Zcdp>(&event.mechanism);
    if ((dp && dp->delta > 0) || (zcdp && zcdp->total_variation > 0))
      throw PrivacyError(fmt::format("event {} of {}: the best of several has a bound for {} without {} only",
                                     name(event.mechanism), name(Mechanism(m)), name(event.mechanism),
                                     dp ? "delta" : "total_variation"));
  }
}

std::optional<double> zcdp_rho(const std::vector<Event>& run) {
  double total = 0;
  for (const Event& event : run) {
    const auto rho = zcdp_rho(event.mechanism);
    if (!rho) return {};
    total += static_cast<double>(event.count) * *rho;
  }
  if (!std::isfinite(total)) return {};
  return std::max(total, std::numeric_limits<double>::min());
}

std::vector<double> sum_of_curves(const std::vector<Event>& run, Adjacency adjacency, Orders orders) {
  std::vector<double> total(orders.size(), 0.0);
  for (const Event& event : run) {
    const auto curve = rdp_curve(event.mechanism, adjacency, orders);
    for (std::size_t i = 0; i < orders.size(); ++i) total[i] += static_cast<double>(event.count) * curve[i];
  }
  return total;
}

// Gaussians are known better than by their divergences.
std::function<double(double)> delta_of(const std::vector<Event>& run, Adjacency adjacency) {
  try {
    const auto gdp = std::make_shared<GdpAccountant>(adjacency);
    gdp->Accountant::compose(run);
    return [gdp](double epsilon) { return gdp->delta(epsilon); };
  } catch (const PrivacyError&) {
    return [curve = sum_of_curves(run, adjacency, rdp_orders())](double epsilon) {
      return rdp_to_delta(rdp_orders(), curve, epsilon).value;
    };
  }
}

std::vector<double> best_of_runs_curve(const RepeatAndSelect& m, Adjacency adjacency, Orders orders) {
  check_run(m);
  RunBounds run{
      .rho = zcdp_rho(m.run), .curve = [&](Orders at) { return sum_of_curves(m.run, adjacency, at); }, .delta = {}};
  if (m.law.distribution == Repetitions::poisson) run.delta = delta_of(m.run, adjacency);
  return repeat_and_select_curve(m.law, run, orders);
}

}  // namespace

std::vector<double> rdp_curve(const Mechanism& mechanism, Adjacency adjacency, Orders orders) {
  check_orders(orders);
  check({mechanism, 1}, "event");
  if (orders.empty()) return {};
  if (const auto rho = zcdp_rho(mechanism)) return linear_curve(*rho, orders);
  if (const auto* m = std::get_if<PoissonGaussian>(&mechanism))
    return poisson_gaussian_curve(m->sampling_rate, m->noise_multiplier, adjacency, orders);
  if (const auto* m = std::get_if<PoissonGaussianGroup>(&mechanism))
    return rdp_curve(drawn_together(*m), adjacency, orders);
  if (const auto* m = std::get_if<CyclicPoissonGaussian>(&mechanism))
    return sum_of_curves({{m->round(), m->rounds()}}, adjacency, orders);
  if (const auto* m = std::get_if<PoissonDiscreteGaussian>(&mechanism))
    return poisson_discrete_gaussian_curve(m->sampling_rate, m->noise_multiplier, adjacency, orders);
  if (const auto* m = std::get_if<WorGaussian>(&mechanism)) return wor_curve(*m, adjacency, orders);
  if (const auto* m = std::get_if<WorDiscreteGaussian>(&mechanism)) return wor_curve(*m, adjacency, orders);
  if (const auto* m = std::get_if<HiddenState>(&mechanism)) {
    require_replace_one(mechanism, adjacency);
    return sampled_composition_curve(*m, orders);
  }
  if (const auto* m = std::get_if<Laplace>(&mechanism)) return laplace_curve(m->scale, orders);
  if (const auto* m = std::get_if<PoissonLaplace>(&mechanism))
    return poisson_laplace_curve(m->sampling_rate, m->scale, adjacency, orders);
  if (const auto* m = std::get_if<Exponential>(&mechanism)) return bounded_range_curve(m->epsilon, orders);
  if (const auto* m = std::get_if<ApproxDp>(&mechanism)) return randomized_response_curve(m->epsilon, orders);
  if (const auto* m = std::get_if<RepeatAndSelect>(&mechanism)) return best_of_runs_curve(*m, adjacency, orders);
  if (std::holds_alternative<NonPrivate>(mechanism)) return std::vector<double>(orders.size(), infinity);
  throw PrivacyError(fmt::format("event {}: accountant rdp has no bound for it", name(mechanism)));
}

}  // namespace dpmpi
