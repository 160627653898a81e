#include "privacy/accountants/gdp.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/curves/round_up.hpp"
#include "privacy/curves/strategy.hpp"
#include "privacy/events/group.hpp"
#include "privacy/events/mechanism_counts.hpp"
#include "privacy/last_iterate/bounds.hpp"
#include "privacy/last_iterate/run.hpp"

namespace dpmpi {
namespace {

// mu^2 of one use of a mechanism.
Real squared_mu(const Mechanism& mechanism) {
  const auto of_noise = [](double z) { return 1 / (static_cast<Real>(z) * static_cast<Real>(z)); };
  const auto of_mu = [](double mu) { return static_cast<Real>(mu) * static_cast<Real>(mu); };
  if (const auto* m = std::get_if<Gaussian>(&mechanism)) return of_noise(m->noise_multiplier);
  if (const auto* m = std::get_if<Tree>(&mechanism)) return of_mu(tree_mu(*m));
  if (const auto* m = std::get_if<Gdp>(&mechanism)) return of_mu(m->mu);
  if (const auto* m = std::get_if<HiddenState>(&mechanism); m && !m->sampled()) return of_mu(composition_mu(*m));
  if (std::holds_alternative<NonPrivate>(mechanism)) return infinity;
  const auto* group = std::get_if<PoissonGaussianGroup>(&mechanism);
  if (group && group->sampling_rate == 1) return squared_mu(drawn_together(*group));
  if (const auto* run = std::get_if<CyclicPoissonGaussian>(&mechanism); run && run->sampling_rate == 1)
    return static_cast<Real>(run->rounds()) * of_noise(run->noise_multiplier);
  std::string reason = "it is not a Gaussian on a query of all records";
  if (const auto* m = std::get_if<PoissonGaussian>(&mechanism)) {
    if (m->sampling_rate == 1) return of_noise(m->noise_multiplier);
    reason = fmt::format("sampling_rate is {}, and a mixture of Gaussians is exactly mu-GDP for no mu",
                         m->sampling_rate);
  } else if (const auto* run = std::get_if<CyclicPoissonGaussian>(&mechanism)) {
    reason = fmt::format("sampling_rate is {}, and a mixture of Gaussians is exactly mu-GDP for no mu",
                         run->sampling_rate);
  } else if (std::holds_alternative<DiscreteGaussian>(mechanism)) {
    reason = "the trade-off function of the discrete Gaussian is not that of the continuous one";
  } else if (std::holds_alternative<HiddenState>(mechanism)) {
    reason = "its batches are samples, and a mixture of Gaussians is exactly mu-GDP for no mu";
  }
  throw PrivacyError(fmt::format("event {}: accountant gdp has no bound for it: {}", name(mechanism), reason));
}

// Above the roundings of the sum and of tree_mu (relative 1e-12, upwards).
constexpr Real sum_error = 0x1p-56L, sensitivity_excess = 0x1p-39L;

}  // namespace

void GdpAccountant::compose(const Event& event) {
  if (event.count == 0) return;
  check({event.mechanism, 1}, "event");
  auto found = uses_.find(event.mechanism);
  if (found == uses_.end()) found = uses_.emplace(event.mechanism, Use{squared_mu(event.mechanism), 0}).first;
  add_uses(found->second.count, event);
}

long double GdpAccountant::sum_of_squares() const {
  Real sum = 0;
  for (const auto& [mechanism, use] : uses_) sum += static_cast<Real>(use.count) * use.squared_mu;
  return sum;
}

double GdpAccountant::mu() const { return round_up(std::sqrt(sum_of_squares()) * (1 + sum_error)); }

// Composition is what an observer of all iterates can see; of a run that hides them nothing is known from below.
double GdpAccountant::least_mu() const {
  Real sum = 0;
  for (const auto& [mechanism, use] : uses_)
    if (!std::holds_alternative<HiddenState>(mechanism)) sum += static_cast<Real>(use.count) * use.squared_mu;
  return round_down(std::sqrt(sum) * (1 - sensitivity_excess));
}

// Everything composed is mu-GDP outside of an event of probability `failure`: runs with hidden iterates are
// replaced by their coupled processes, which differ from them in that event only.
struct GdpAccountant::Coupled {
  double mu, failure;
};

bool GdpAccountant::hides_iterates() const {
  return std::any_of(uses_.begin(), uses_.end(),
                     [](const auto& use) { return std::holds_alternative<HiddenState>(use.first); });
}

GdpAccountant::Coupled GdpAccountant::coupled(double failure) const {
  const double runs = hidden_runs(uses_);
  Real sum = 0;
  double failed = 0;
  for (const auto& [mechanism, use] : uses_) {
    const auto count = static_cast<double>(use.count);
    Real squared = use.squared_mu;
    if (const auto* run = std::get_if<HiddenState>(&mechanism)) {
      const HiddenTotal total = remembered_total(*run, failure / runs);
      squared = static_cast<Real>(total.mu) * total.mu;
      failed += count * total.failure;
    }
    sum += count * squared;
  }
  return {round_up(std::sqrt(sum) * (1 + sum_error)), failed * (1 + 0x1p-40)};
}

double GdpAccountant::epsilon(double delta) const {
  const double composed = gdp_epsilon(mu(), delta);
  if (!hides_iterates()) return composed;
  const Coupled by_coupling = coupled(failure_share * delta);
  const double left = (delta - by_coupling.failure) * (1 - 0x1p-50);
  return left > 0 ? std::min(composed, gdp_epsilon(by_coupling.mu, left)) : composed;
}

double GdpAccountant::delta(double epsilon) const {
  const double composed = gdp_delta(mu(), epsilon);
  if (!hides_iterates()) return composed;
  return least_delta_over_failures(composed, [&](double failure) {
    const Coupled by_coupling = coupled(failure);
    return (gdp_delta(by_coupling.mu, epsilon) + by_coupling.failure) * (1 + 0x1p-50);
  });
}

double GdpAccountant::least_epsilon(double delta) const { return least_gdp_epsilon(least_mu(), delta); }
double GdpAccountant::least_delta(double epsilon) const { return least_gdp_delta(least_mu(), epsilon); }

}  // namespace dpmpi
