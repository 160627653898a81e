#include "privacy/accountants/rdp.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/curves/rdp_curves.hpp"
#include "privacy/curves/strategy.hpp"
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
  return wor_gaussian_curve(static_cast<double>(m.batch) / static_cast<double>(m.population), m.noise_multiplier,
                            orders);
}

}  // namespace

std::vector<double> rdp_curve(const Mechanism& mechanism, Adjacency adjacency, Orders orders) {
  check_orders(orders);
  check({mechanism, 1}, "event");
  if (orders.empty()) return {};
  if (const auto rho = zcdp_rho(mechanism)) return linear_curve(*rho, orders);
  if (const auto* m = std::get_if<PoissonGaussian>(&mechanism))
    return poisson_gaussian_curve(m->sampling_rate, m->noise_multiplier, adjacency, orders);
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
  if (const auto* m = std::get_if<RepeatAndSelect>(&mechanism)) return repeat_and_select_curve(*m, orders);
  if (std::holds_alternative<NonPrivate>(mechanism)) return std::vector<double>(orders.size(), infinity);
  throw PrivacyError(fmt::format("event {}: accountant rdp has no bound for it", name(mechanism)));
}

}  // namespace dpmpi
