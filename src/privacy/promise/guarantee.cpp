#include "privacy/promise/guarantee.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/promise/attacker_power.hpp"

namespace dpmpi {
namespace {

// Every bound once (some cost a convolution), and the smallest of them.
template <class Upper, class Lower>
double collect(Guarantee& g, const Accountant& composed, Upper upper, Lower lower) {
  for (const Accountant* part : composed.parts()) {
    g.by.emplace_back(part->name(), upper(*part));
    g.least = std::max(g.least, lower(*part));
  }
  g.refusals = composed.refusals();
  double smallest = g.by.front().second;
  for (const auto& [name, bound] : g.by) smallest = std::min(smallest, bound);
  if (g.least > smallest)
    throw BugError(fmt::format("accountants contradict each other: a bound of {} lies below the proven minimum {}",
                               smallest, g.least));
  return smallest;
}

}  // namespace

const std::string& Guarantee::winner() const {
  return std::min_element(by.begin(), by.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

Guarantee epsilon_guarantee(const std::vector<Event>& events, Adjacency adjacency, double delta,
                            std::string_view accountant, const PldAccountant* answered) {
  const auto composed = make_accountant(accountant, adjacency);
  composed->compose(events);
  if (answered) composed->recall(*answered);
  Guarantee g{.delta = delta};
  g.epsilon = collect(
      g, *composed, [=](const Accountant& a) { return a.epsilon(delta); },
      [=](const Accountant& a) { return a.least_epsilon(delta); });
  return g;
}

Guarantee delta_guarantee(const std::vector<Event>& events, Adjacency adjacency, double epsilon,
                          std::string_view accountant) {
  const auto composed = make_accountant(accountant, adjacency);
  composed->compose(events);
  Guarantee g{.epsilon = epsilon};
  g.delta = collect(
      g, *composed, [=](const Accountant& a) { return a.delta(epsilon); },
      [=](const Accountant& a) { return a.least_delta(epsilon); });
  return g;
}

const std::vector<Event>& to_cover(StopReason reason, const std::vector<Event>& planned,
                                   const std::vector<Event>& spent) {
  std::map<Mechanism, std::uint64_t> left;
  for (const Event& event : planned) left[event.mechanism] += event.count;
  for (const Event& event : spent) {
    std::uint64_t& count = left[event.mechanism];
    if (event.count > count)
      throw PrivacyError(
          fmt::format("{} is not in the plan, or not so often: another run's plan?", to_json(event)));
    count -= event.count;
  }
  return reason == StopReason::results ? planned : spent;
}

std::string rounded_up(double x) {
  if (x == 0) return "0";
  if (!(x > 0 && std::isfinite(x))) return fmt::format("{}", x);
  const int exponent = static_cast<int>(std::floor(std::log10(x)));
  for (double shown = x;; shown = std::nextafter(shown, HUGE_VAL) + std::pow(10.0, exponent - 5) / 2) {
    std::string text = fmt::format("{:.6g}", shown);
    if (std::stod(text) >= x) return text;
  }
}

double attacker_power(const Guarantee& guarantee, double false_positive_rate) {
  if (std::isinf(guarantee.epsilon)) return 1;
  const double delta = guarantee.delta, rate = false_positive_rate;
  const double rejected = std::exp(guarantee.epsilon) * rate + delta;
  const double accepted = 1 - std::exp(-guarantee.epsilon) * (1 - rate - delta);
  constexpr double rounding = 1 + 1e-14;
  return std::min(1.0, std::min(rejected, accepted) * rounding);
}

std::vector<std::pair<double, double>> attacker_table(const std::vector<Event>& events, Adjacency adjacency,
                                                      const Guarantee& guarantee,
                                                      const std::vector<double>& rates) {
  std::vector<std::pair<double, double>> table;
  for (const double rate : rates) table.emplace_back(rate, 1);
  const auto tighten = [&](auto&& power) {
    for (auto& [rate, found] : table) found = std::min(found, power(rate));
  };
  tighten([&](double rate) { return attacker_power(guarantee, rate); });
  for (const auto& [name, epsilon] : guarantee.by) {
    if (std::isinf(epsilon)) continue;
    const auto accountant = make_accountant(name, adjacency);
    accountant->compose(events);
    if (!accountant->is_costly()) {
      tighten([&](double rate) { return attacker_power(*accountant, rate); });
      continue;
    }
    const std::vector<double> deltas{1e-4, 1e-3, 1e-2, 1e-1}, epsilons = accountant->epsilons(deltas);
    for (std::size_t i = 0; i < deltas.size(); ++i)
      tighten(
          [&](double rate) { return attacker_power(Guarantee{.epsilon = epsilons[i], .delta = deltas[i]}, rate); });
  }
  return table;
}

}  // namespace dpmpi
