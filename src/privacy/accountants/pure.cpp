#include "privacy/accountants/pure.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/renyi_quadrature.hpp"
#include "privacy/loss_distributions/discrete_loss.hpp"

namespace dpmpi {

namespace {

constexpr double above = 1 + 0x1p-50, below = 1 - 0x1p-50;

// The (epsilon, delta) that a mechanism is known to have, under both adjacencies.
std::optional<ApproxDp> guarantee(const Mechanism& mechanism) {
  if (const auto* m = std::get_if<ApproxDp>(&mechanism)) return *m;
  if (const auto* m = std::get_if<Laplace>(&mechanism)) return ApproxDp{above / m->scale, 0};
  if (const auto* m = std::get_if<PoissonLaplace>(&mechanism))  // amplification by sampling
    return ApproxDp{above * log_mixture(m->sampling_rate, above / m->scale), 0};
  if (const auto* m = std::get_if<Exponential>(&mechanism)) return ApproxDp{m->epsilon, 0};
  if (std::holds_alternative<NonPrivate>(mechanism)) return ApproxDp{infinity, 1};
  return {};
}

// 1 - prod (1 - delta_i), the probability that some guarantee fails, rounded to both sides. A single delta is
// itself: an (epsilon, delta) guarantee has to give its epsilon back at its own delta.
struct Failure {
  double least, most;
};
Failure failure(const std::map<Mechanism, std::uint64_t>& uses) {
  double log_success = 0, only = 0, fallible = 0;
  for (const auto& [mechanism, count] : uses) {
    const double delta = guarantee(mechanism)->delta;
    if (delta == 0) continue;
    only = delta;
    fallible += static_cast<double>(count);
    log_success += static_cast<double>(count) * std::log1p(-delta);
  }
  if (fallible <= 1) return {only, only};
  const double total = -std::expm1(log_success), error = 0x1p-51 * static_cast<double>(uses.size() + 8);
  return {total * (1 - error), std::min(1.0, total * (1 + error))};
}

std::map<double, std::uint64_t> uses_by_epsilon(const std::map<Mechanism, std::uint64_t>& uses) {
  std::map<double, std::uint64_t> counts;
  for (const auto& [mechanism, count] : uses) counts[guarantee(mechanism)->epsilon] += count;
  return counts;
}

bool all_are_worst_cases(const std::map<Mechanism, std::uint64_t>& uses) {
  return std::all_of(uses.begin(), uses.end(),
                     [](const auto& use) { return std::holds_alternative<ApproxDp>(use.first); });
}

}  // namespace

void OptimalCompositionAccountant::compose(const Event& event) {
  if (event.count == 0) return;
  check(event, "event");
  const auto known = guarantee(event.mechanism);
  if (!known)
    throw PrivacyError(fmt::format(
        "event {}: accountant optimal composes approx_dp, laplace, poisson_laplace and exponential only",
        dpmpi::name(event.mechanism)));
  const std::uint64_t before = uses_by_epsilon(uses_)[known->epsilon];
  if (event.count > most_uses || before > most_uses - event.count)
    throw PrivacyError(fmt::format("event {}: accountant optimal composes at most 2^32 uses with one epsilon",
                                   dpmpi::name(event.mechanism)));
  if (std::isfinite(known->epsilon) && !(known->epsilon * static_cast<double>(event.count) < 1e300))
    throw PrivacyError(
        fmt::format("event {}: epsilon times count is not below 1e300", dpmpi::name(event.mechanism)));
  uses_[event.mechanism] += event.count;
  law_.reset();
}

// Pairs of neighbours, then pairs of pairs: losses that the grid splits are split few times.
const LossLaw& OptimalCompositionAccountant::law() const {
  if (law_) return *law_;
  std::vector<LossLaw> laws;
  for (const auto& [epsilon, count] : uses_by_epsilon(uses_))
    laws.push_back(LossLaw::randomized_response(epsilon, count));
  if (laws.empty()) laws.push_back(LossLaw::randomized_response(0, 0));
  for (; laws.size() > 1; laws.resize((laws.size() + 1) / 2))
    for (std::size_t i = 0; 2 * i < laws.size(); ++i)
      laws[i] = 2 * i + 1 < laws.size() ? laws[2 * i] + laws[2 * i + 1] : std::move(laws[2 * i]);
  law_ = std::make_shared<const LossLaw>(std::move(laws.front()));
  return *law_;
}

// The four outcomes of the worst (epsilon, delta)-DP mechanism: with probability delta it tells everything, else it
// is randomized response. So delta(epsilon) = failure + (1 - failure) H(epsilon), with H that of the responses.
double OptimalCompositionAccountant::delta(double epsilon) const {
  verify(epsilon >= 0, "epsilon >= 0");
  const double fail = failure(uses_).most;
  return fail == 1 ? 1 : std::min(1.0, (fail + (1 - fail) * law().delta(epsilon)) * above);
}

double OptimalCompositionAccountant::epsilon(double delta) const {
  verify(delta > 0 && delta < 1, "delta in (0, 1)");
  const double fail = failure(uses_).most;
  return fail > delta ? infinity : law().epsilon((delta - fail) / (1 - fail) * below);
}

double OptimalCompositionAccountant::least_delta(double epsilon) const {
  if (!all_are_worst_cases(uses_) || !law().exact()) return 0;
  const double fail = failure(uses_).least;
  return (fail + (1 - fail) * law().least_delta(epsilon)) * below;
}

double OptimalCompositionAccountant::least_epsilon(double delta) const {
  if (!all_are_worst_cases(uses_) || !law().exact()) return 0;
  const double fail = failure(uses_).least;
  return fail >= delta ? law().atoms().front().loss * below
                       : law().least_epsilon((delta - fail) / (1 - fail) * above);
}

}  // namespace dpmpi
