#include "privacy/events/group.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <boost/math/distributions/binomial.hpp>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

// Quotients and products are moved past their rounding.
constexpr double less = 1 - 0x1p-50, more = 1 + 0x1p-50;

/// The chance that a Poisson sample holds one of k, rounded up.
double chance_of_one(double rate, double k) { return std::min(1.0, -std::expm1(k * std::log1p(-rate)) * more); }

/// One mechanism, seen by a group.
struct SeenByGroup {
  double k;

  template <class M>
  Mechanism operator()(const M& m) const {
    M seen = m;
    if constexpr (requires { m.hybrid; }) {  // hidden iterates
      throw PrivacyError(
          "nothing is known of hidden_state events for groups: convert its epsilon and delta yourself, k epsilon and "
          "delta (e^(k epsilon) - 1) / (e^epsilon - 1)");
    } else if constexpr (requires { m.groups; }) {
      throw PrivacyError(
          "nothing is known of cyclic_poisson_gaussian events for groups: who has several records may have them in "
          "several groups of the run, whose steps share rows");
    } else if constexpr (requires { m.selected; }) {
      // Any of the steps may hold the whole group; a record moves all sums by sqrt(selected).
      return Gaussian{m.noise_multiplier / (k * std::sqrt(static_cast<double>(m.selected))) * less};
    } else if constexpr (requires { m.law; }) {
      seen.run = of_group(m.run, static_cast<std::uint64_t>(k));
    } else if constexpr (requires { m.population; }) {
      return Gaussian{m.noise_multiplier / k * less};  // every sample may hold the whole group
    } else {
      if constexpr (requires { m.sampling_rate; }) seen.sampling_rate = chance_of_one(m.sampling_rate, k);
      if constexpr (requires { m.noise_multiplier; }) seen.noise_multiplier *= less / k;
      if constexpr (requires { m.scale; }) seen.scale *= less / k;
      if constexpr (requires { m.mu; }) seen.mu *= k * more;
    }
    return seen;
  }
  Mechanism operator()(const PoissonGaussian& m) const {
    return (*this)(PoissonGaussianGroup{m.sampling_rate, m.noise_multiplier, 1});
  }
  Mechanism operator()(const PoissonGaussianGroup& m) const {
    const double records = k * static_cast<double>(m.records);
    if (records <= static_cast<double>(PoissonGaussianGroup::most_records))
      return PoissonGaussianGroup{m.sampling_rate, m.noise_multiplier, static_cast<std::uint64_t>(records)};
    return PoissonGaussian{chance_of_one(m.sampling_rate, records), m.noise_multiplier / records * less};
  }
  Mechanism operator()(const WorDiscreteGaussian& m) const {
    return DiscreteGaussian{m.noise_multiplier / k * less};
  }
  Mechanism operator()(const Zcdp& m) const {
    if (m.total_variation > 0)
      throw PrivacyError("nothing is known for groups of zcdp events that have a total_variation");
    return Zcdp{m.rho * k * k * more};
  }
  Mechanism operator()(const Exponential& m) const { return Exponential{m.epsilon * k * more}; }
  Mechanism operator()(const ApproxDp& m) const {
    if (m.delta == 0) return ApproxDp{m.epsilon * k * more, 0};
    const double failures = m.epsilon > 0 ? std::expm1(k * m.epsilon) / std::expm1(m.epsilon) : k;
    const double delta = m.delta * failures * (1 + 0x1p-48);
    if (!(delta < 1))
      throw PrivacyError(fmt::format("approx_dp with delta {} says nothing for a group of {}", m.delta, k));
    return ApproxDp{m.epsilon * k * more, delta};
  }
};

}  // namespace

PoissonGaussian drawn_together(const PoissonGaussianGroup& group) {
  const auto k = static_cast<double>(group.records);
  return {chance_of_one(group.sampling_rate, k), group.noise_multiplier / k * less};
}

double chance_beyond(const PoissonGaussianGroup& group, double radius) {
  const auto k = static_cast<double>(group.records);
  const auto beyond = [&](double drawn) {
    const double room = radius - drawn / group.noise_multiplier;
    return room > 0 ? std::exp(-0.5 * room * room) : 1;
  };
  if (group.records > PoissonGaussianGroup::most_records) return beyond(k);
  const boost::math::binomial_distribution<> drawn(k, group.sampling_rate);
  double chance = 0;
  for (double j = 1; j <= k; ++j) chance += boost::math::pdf(drawn, j) * beyond(j);
  return chance;
}

std::vector<Event> of_group(const std::vector<Event>& events, std::uint64_t size) {
  verify(size >= 1, "a group has somebody");
  if (size == 1) return events;
  std::vector<Event> seen;
  for (const Event& event : events)
    seen.push_back({std::visit(SeenByGroup{static_cast<double>(size)}, event.mechanism), event.count});
  return seen;
}

}  // namespace dpmpi
