#include "dpmpi/privacy/rdp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <boost/math/tools/minima.hpp>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/privacy/hidden_state.hpp"
#include "dpmpi/privacy/rdp_curves.hpp"
#include "dpmpi/privacy/strategy.hpp"

namespace dpmpi {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void check_orders(std::span<const double> orders) {
  for (const double a : orders)
    if (!(a > 1 && a <= rdp_largest_order))
      throw PrivacyError("Renyi order " + std::to_string(a) + ", allowed: numbers in (1, 2048]");
}

double single(const Mechanism& mechanism, Adjacency adjacency, double order) {
  return rdp_curve(mechanism, adjacency, std::span(&order, 1)).front();
}

}  // namespace

const std::vector<double>& rdp_orders() {
  static const std::vector<double> orders = [] {
    std::vector<double> list = {1.01, 1.02, 1.03, 1.05, 1.07, 1.1, 1.15, 1.2,
                                1.25, 1.3,  1.4,  1.5,  1.6,  1.7, 1.8,  1.9};
    for (int a = 2; a <= 256; ++a) list.push_back(a);
    list.insert(list.end(), {320, 384, 448, 512, 640, 768, 1024});
    return list;
  }();
  return orders;
}

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

// Samples of a fixed size. n and the batch size are the same in both datasets, so there is replace_one only.
void require_replace_one(const Mechanism& mechanism, Adjacency adjacency) {
  if (adjacency != Adjacency::replace_one)
    throw PrivacyError(
        fmt::format("event {} under add_remove: samples of a fixed size have a bound under replace_one "
                    "only (n and the batch size are the same in both datasets)",
                    name(mechanism)));
}

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

double gaussian_rdp(double noise_multiplier, double order) {
  return single(Gaussian{noise_multiplier}, Adjacency::add_remove, order);
}
double poisson_gaussian_rdp(double sampling_rate, double noise_multiplier, double order, Adjacency adjacency) {
  return single(PoissonGaussian{sampling_rate, noise_multiplier}, adjacency, order);
}
double wor_gaussian_rdp(std::uint64_t population, std::uint64_t batch, double noise_multiplier, double order) {
  return single(WorGaussian{population, batch, noise_multiplier}, Adjacency::replace_one, order);
}

namespace {

double epsilon_at(double a, double divergence, double delta) {
  return divergence + std::log1p(-1 / a) - (std::log(delta) + std::log(a)) / (a - 1);
}
double log_delta_at(double a, double divergence, double epsilon) {
  return (a - 1) * (divergence - epsilon + std::log1p(-1 / a)) - std::log(a);
}

double epsilon_outward(double epsilon) { return std::max(0.0, epsilon + 1e-14 + 1e-15 * std::abs(epsilon)); }
double delta_outward(double log_delta) { return std::min(1.0, outward(std::exp(log_delta))); }

// The smallest value of a bound over all orders. Every order gives a bound, so the search needs no guarantee.
template <class Bound>
RdpConversion best_real_order(Bound bound) {
  const auto at = [&](double log_beta) { return bound(1 + std::exp(log_beta)); };
  double best = -14;
  for (double x = best; x <= 40; x += 0.5)
    if (at(x) < at(best)) best = x;
  const auto [x, value] =
      boost::math::tools::brent_find_minima(at, best - 0.5, best + 0.5, std::numeric_limits<double>::digits / 2);
  return value < at(best) ? RdpConversion{value, 1 + std::exp(x)} : RdpConversion{at(best), 1 + std::exp(best)};
}

}  // namespace

RdpConversion rdp_to_epsilon(std::span<const double> orders, std::span<const double> curve, double delta) {
  verify(delta > 0 && delta < 1, "delta in (0, 1)");
  RdpConversion best{infinity, orders.empty() ? 0 : orders.back()};
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const double a = orders[i];
    if (curve[i] == 0) return {0, a};  // a divergence of zero: the outputs have the same law
    const double epsilon = epsilon_at(a, curve[i], delta);
    if (epsilon < best.value) best = {epsilon, a};
  }
  return {epsilon_outward(best.value), best.order};
}

RdpConversion rdp_to_delta(std::span<const double> orders, std::span<const double> curve, double epsilon) {
  verify(epsilon >= 0, "epsilon >= 0");
  RdpConversion best{0, orders.empty() ? 0 : orders.back()};  // of log delta
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const double a = orders[i];
    if (curve[i] == 0) return {0, a};
    const double log_delta = log_delta_at(a, curve[i], epsilon);
    if (log_delta < best.value) best = {log_delta, a};
  }
  return {delta_outward(best.value), best.order};
}

RdpConversion zcdp_to_epsilon(double rho, double delta) {
  verify(rho >= 0 && delta > 0 && delta < 1, "rho >= 0 and delta in (0, 1)");
  if (rho == 0 || !std::isfinite(rho)) return {rho, rdp_largest_order};
  const auto best = best_real_order([&](double a) { return epsilon_at(a, outward(rho * a), delta); });
  return {epsilon_outward(best.value), best.order};
}

RdpConversion zcdp_to_delta(double rho, double epsilon) {
  verify(rho >= 0 && epsilon >= 0, "rho >= 0 and epsilon >= 0");
  if (rho == 0 || !std::isfinite(rho)) return {rho == 0 ? 0.0 : 1.0, rdp_largest_order};
  const auto best = best_real_order([&](double a) { return log_delta_at(a, outward(rho * a), epsilon); });
  return {delta_outward(best.value), best.order};
}

}  // namespace dpmpi
