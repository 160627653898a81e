#include "privacy/promise/group_guarantee.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/strategy.hpp"
#include "privacy/events/group.hpp"

namespace dpmpi {
namespace {

constexpr double outward_factor = 1 + 0x1p-40;  // past the rounding of what follows

/// 1 + e^epsilon + ... + e^((size - 1) epsilon): by how much delta grows along a chain.
double growth(std::uint64_t size, double epsilon) {
  const double k = static_cast<double>(size);
  return (epsilon > 0 ? std::expm1(k * epsilon) / std::expm1(epsilon) : k) * outward_factor;
}

/// Noise that is drawn in double precision.
template <class M>
concept DrawnInDouble = std::same_as<M, Gaussian> || std::same_as<M, PoissonGaussian> ||
    std::same_as<M, PoissonGaussianGroup> || std::same_as<M, CyclicPoissonGaussian> ||
    std::same_as<M, RandomAllocationGaussian> || std::same_as<M, WorGaussian> || std::same_as<M, Tree>;

/// Of a value that gets noise: at most what a record moves all of them, and, but for matrices whose entries may be
/// anything, its leaf in every participation.
double longest_shift(const Tree& tree) {
  const double all = std::sqrt(squared_sensitivity(tree));
  if (tree.strategy == Strategy::explicit_matrix) return all;
  return std::min(all, tree.first_leaf * static_cast<double>(tree.participations));
}

/// A hundred times the probability that such noise, which ends at resolved_radius, is where it cannot hide a group,
/// whose shift is `size` times as long as that of one: no smaller delta can be promised (run/plan has the same
/// rule).
double least_delta(const std::vector<Event>& events, std::uint64_t size) {
  double lost = 0;
  for (const Event& event : events)
    std::visit(
        [&]<class M>(const M& m) {
          auto count = static_cast<double>(event.count);
          if constexpr (requires { m.rounds(); }) count *= static_cast<double>(m.rounds());
          if constexpr (requires { m.sampling_rate; } && DrawnInDouble<M>) {
            PoissonGaussianGroup group{m.sampling_rate, m.noise_multiplier, size};
            if constexpr (requires { m.records; }) group.records *= m.records;
            lost += count * chance_beyond(group, resolved_radius);
          } else if constexpr (DrawnInDouble<M>) {
            double longest = static_cast<double>(size);  // shift of one value that gets noise
            if constexpr (std::same_as<M, Tree>) longest *= longest_shift(m);
            const double room = resolved_radius - longest / m.noise_multiplier;
            lost += count * (room > 0 ? std::exp(-0.5 * room * room) : 1);
          } else if constexpr (std::same_as<M, RepeatAndSelect>) {
            lost += count * least_delta(m.run, size);
          }
        },
        event.mechanism);
  return std::min(1.0, 100 * lost);
}

/// The least epsilon that is found of a chain at delta: of a link with delta / growth, which depends on epsilon.
double chain_epsilon(const Accountant& link, std::uint64_t size, double delta, double least) {
  constexpr int attempts = 100;
  double guess = link.epsilon(delta);
  for (int i = 0; i < attempts && std::isfinite(guess); ++i) {
    const double of_link = delta / growth(size, guess);
    if (!(of_link > least)) break;
    const double epsilon = link.epsilon(of_link);
    if (epsilon <= guess) return static_cast<double>(size) * guess * outward_factor;
    guess = epsilon * (1 + 1e-3);
  }
  return infinity;
}

/// `by_events` says what is known of the group's events; `chain` is known without.
Guarantee with_chain(const std::function<Guarantee()>& by_events, double chain) {
  Guarantee g;
  try {
    g = by_events();
  } catch (const PrivacyError& problem) {
    g.refusals.emplace("events", problem.what());
  }
  g.least = 0;
  if (std::isfinite(chain)) g.by.emplace_back("chain", chain);
  if (g.by.empty()) throw PrivacyError("no bound is known for groups of this size: the noise cannot hide them");
  return g;
}

/// Accountants to ask. No other can prove less of what is exactly Gaussian than gdp does, and convolutions of the
/// large losses of groups are slow.
std::string_view asked_of(const std::vector<Event>& events, Adjacency adjacency, std::string_view accountant) {
  if (accountant != "best") return accountant;
  try {
    make_accountant("gdp", adjacency)->compose(events);
    return "gdp";
  } catch (const PrivacyError&) {
    return accountant;
  }
}

double smallest_of(const Guarantee& g) {
  return std::ranges::min(g.by, {}, [](const auto& bound) { return bound.second; }).second;
}

}  // namespace

Guarantee group_epsilon_guarantee(const std::vector<Event>& events, std::uint64_t size, Adjacency adjacency,
                                  double delta, std::string_view accountant) {
  if (size == 1) return epsilon_guarantee(events, adjacency, delta, accountant);
  const auto link = make_accountant(accountant, adjacency);
  link->compose(events);
  const auto by_events = [&] {
    if (least_delta(events, size) > delta)
      throw PrivacyError("a group's shift reaches the ends of noise that is drawn in double precision");
    const std::vector<Event> seen = of_group(events, size);
    return epsilon_guarantee(seen, adjacency, delta, asked_of(seen, adjacency, accountant));
  };
  Guarantee g = with_chain(by_events, chain_epsilon(*link, size, delta, least_delta(events, 1)));
  g.delta = delta;
  g.epsilon = smallest_of(g);
  return g;
}

Guarantee group_delta_guarantee(const std::vector<Event>& events, std::uint64_t size, Adjacency adjacency,
                                double epsilon, std::string_view accountant) {
  if (size == 1) return delta_guarantee(events, adjacency, epsilon, accountant);
  const auto link = make_accountant(accountant, adjacency);
  link->compose(events);
  const double of_link = epsilon / static_cast<double>(size);
  const double chain = (link->delta(of_link) + least_delta(events, 1)) * growth(size, of_link);
  Guarantee g = with_chain([&] { return delta_guarantee(of_group(events, size), adjacency, epsilon, accountant); },
                           std::min(1.0, chain));
  for (auto& [name, delta] : g.by)
    delta = std::min(1.0, name == "chain" ? delta : delta + least_delta(events, size));
  g.epsilon = epsilon;
  g.delta = smallest_of(g);
  return g;
}

}  // namespace dpmpi
