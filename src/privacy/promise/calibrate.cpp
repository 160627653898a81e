#include "privacy/promise/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/accountants/rdp_accountant.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/promise/pld_search.hpp"
#include "privacy/promise/search.hpp"

namespace dpmpi {

namespace {

constexpr Unknown known_unknowns[] = {
    {.name = "noise_multiplier", .least = 1e-3, .most = 1e7},
    {.name = "scale", .least = 1e-3, .most = 1e7},
    {.name = "count", .protects = false, .whole = true, .least = 1, .most = 0x1p53},
    {.name = "sampling_rate", .protects = false, .least = 1e-9, .most = 1, .start = 0.01},
    {.name = "mu", .protects = false, .least = 1e-7, .most = 1e3},
    {.name = "rho", .protects = false, .least = 1e-12, .most = 1e6},
};

RdpAccountant composed(const Problem& problem, double x, std::vector<double> orders) {
  RdpAccountant accountant(problem.target.adjacency, std::move(orders));
  accountant.compose(problem.events(x));
  return accountant;
}

// Fewer orders give a larger epsilon, hence a value that keeps the target. Solve on a coarse grid, then around the
// order that is best on the full one, until that order and its neighbours are among those solved for.
std::optional<double> solve_by_rdp(const Problem& problem) {
  const auto solve = [&](const std::vector<double>& orders, std::optional<double> near) {
    return problem.solve([&](double x) { return composed(problem, x, orders).epsilon(problem.target.delta); },
                         near);
  };
  const std::vector<double>& all = rdp_orders();
  std::vector<double> coarse;
  for (std::size_t i = 0; i < all.size(); i += 1 + i / 8) coarse.push_back(all[i]);
  coarse.push_back(all.back());
  auto x = solve(coarse, std::nullopt);
  if (!x) return solve(all, std::nullopt);
  std::ptrdiff_t first = 0, last = -1;
  for (int round = 0; round < 8; ++round) {
    const double best = composed(problem, *x, all).best_order(problem.target.delta);
    const auto at = std::min(std::ranges::lower_bound(all, best) - all.begin(), std::ssize(all) - 1);
    const auto below = std::max<std::ptrdiff_t>(0, at - 2), above = std::min(std::ssize(all) - 1, at + 2);
    if (first <= below && above <= last) break;
    first = std::max<std::ptrdiff_t>(0, at - 4), last = std::min(std::ssize(all) - 1, at + 4);
    x = solve({all.begin() + first, all.begin() + last + 1}, x);
    if (!x) return solve(all, std::nullopt);
  }
  const bool kept = composed(problem, *x, all).epsilon(problem.target.delta) <= problem.target.epsilon;
  return kept ? x : solve(all, x);
}

// Epsilon by one accountant; infinity where it has no bound for the events. Remembers.
EpsilonOf epsilon_by(const Problem& problem, const std::string& accountant) {
  const auto compute = [&problem, accountant](double x) {
    try {
      const auto a = make_accountant(accountant, problem.target.adjacency);
      a->compose(problem.events(x));
      return a->epsilon(problem.target.delta);
    } catch (const PrivacyError&) {
      return infinity;
    }
  };
  return [compute, known = std::map<double, double>{}](double x) mutable {
    const auto found = known.find(x);
    return found != known.end() ? found->second : known[x] = compute(x);
  };
}

std::optional<double> rdp_or_nothing(const Problem& problem) {
  try {
    return solve_by_rdp(problem);
  } catch (const PrivacyError&) {  // no Renyi bound for these events
    return std::nullopt;
  }
}

// Each accountant's bound is valid by itself, so the best value is the best of theirs. RDP is the cheapest to
// search with; another one is asked to search only if it can confirm the best value so far, the costly
// convolutions last.
std::optional<double> solve(const Problem& problem, std::string_view accountant, PldSearch& by_pld) {
  auto best = rdp_or_nothing(problem);
  if (accountant == "rdp") return best;
  if (accountant == "pld") return by_pld.tightest(best);
  for (const std::string& name : accountant_names()) {
    if (name == "best" || name == "rdp" || name == "pld" || (accountant != "best" && accountant != name)) continue;
    const EpsilonOf epsilon_of = epsilon_by(problem, name);
    if (accountant == name) return problem.solve(epsilon_of, best);
    if (!best || epsilon_of(*best) <= problem.target.epsilon)
      if (const auto x = problem.solve(epsilon_of, best)) best = x;
  }
  if (!best || by_pld.promising(*best))
    if (const auto x = by_pld.tightest(best); x && (!best || problem.tighter(*x, *best))) best = x;
  return best;
}

[[noreturn]] void unreachable(const Problem& problem, std::string_view accountant) {
  const Unknown& u = problem.unknown;
  const double end = u.protects ? u.most : u.least;
  const auto a = make_accountant(accountant, problem.target.adjacency);
  a->compose(problem.events(end));  // says why, if no accountant has a bound at all
  throw PrivacyError(fmt::format(
      "epsilon {} at delta {} under {} cannot be reached (accountant {}): with {} {} epsilon is still {:.6g}. Part "
      "of the events does not get more private with it, or delta is too small for such an epsilon",
      problem.target.epsilon, problem.target.delta, name(problem.target.adjacency), accountant, u.name, end,
      a->epsilon(problem.target.delta)));
}

}  // namespace

std::span<const Unknown> unknowns() { return known_unknowns; }

bool assign(Event& event, std::string_view member, double value) {
  if (member == "count") return event.count = static_cast<std::uint64_t>(value), true;
  return std::visit(
      [&](auto& m) {
        if constexpr (requires { m.noise_multiplier; })
          if (member == "noise_multiplier") return m.noise_multiplier = value, true;
        if constexpr (requires { m.run; })
          if (m.run.size() == 1 && std::holds_alternative<Gaussian>(m.run[0].mechanism))
            return assign(m.run[0], member, value);
        if constexpr (requires { m.sampling_rate; })
          if (member == "sampling_rate") return m.sampling_rate = value, true;
        if constexpr (requires { m.scale; })
          if (member == "scale") return m.scale = value, true;
        if constexpr (requires { m.mu; })
          if (member == "mu") return m.mu = value, true;
        if constexpr (requires { m.rho; })
          if (member == "rho") return m.rho = value, true;
        return false;
      },
      event.mechanism);
}

Calibration calibrate(const Unknown& unknown, const EventsOf& events, const PrivacyTarget& target,
                      std::string_view accountant) {
  if (!(std::isfinite(target.epsilon) && target.epsilon > 0))
    throw PrivacyError(fmt::format("target epsilon is {}, allowed: a finite number > 0", target.epsilon));
  if (!(target.delta > 0 && target.delta < 1))
    throw PrivacyError(fmt::format("target delta is {}, allowed: a number in (0, 1)", target.delta));
  make_accountant(accountant, target.adjacency);  // an unknown name is no refusal of events

  Progress progress(fmt::format("searching {}", unknown.name), 0, "values");
  const EventsOf counted = [&](double x) { return progress.add(), events(x); };
  const Problem problem{unknown, counted, target};
  PldSearch by_pld(problem);
  const auto x = solve(problem, accountant, by_pld);
  if (!x) unreachable(problem, accountant);
  return {*x, by_pld.answered(*x)};
}

Calibration calibrate_noise(const EventsOf& events, const PrivacyTarget& target, std::string_view accountant) {
  return calibrate(known_unknowns[0], events, target, accountant);
}

double smallest_noise(const EpsilonOf& epsilon_of, double epsilon, double low, double high) {
  const Unknown noise{.name = "noise_multiplier", .least = low, .most = high};
  return Search(noise, epsilon_of, epsilon).tightest(1).value_or(infinity);
}

}  // namespace dpmpi
