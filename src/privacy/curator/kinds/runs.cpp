// Queries of whole runs: the best of several, and one of which the last iterate is released.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "privacy/curator/kinds/fit.hpp"
#include "privacy/curves/repetition_law.hpp"

namespace dpmpi {

void BestOfRuns::declare(Query& q) const {
  verify(q.dim == 1, "a run is scored by one number");
  check_gaussian(q, "the best of several runs");
  q.exact = true;
  q.seen_by_ranks = "runs that are not selected";
  q.cost.runs = expected_repetitions(law);
  q.drawing_error = 0x1p-46 * std::max(1.0, static_cast<double>(q.steps) * q.cost.runs);
  declare_sum(q);
}

Events BestOfRuns::events(const Query& q, std::uint64_t first, std::uint64_t last) const {
  return {{RepeatAndSelect{law, {{Gaussian{q.noise_multiplier}, 1}}}, last - first}};
}

void LastIterateRun::declare(Query& q) const {
  q.exact = true;
  q.cost.worker_noise = static_cast<double>(run.hybrid) / static_cast<double>(q.steps);
  declare_sum(q);
  if (!q.is_private()) return;
  if (q.adjacency != Adjacency::replace_one)
    throw PrivacyError("hidden iterates are analysed under replace_one only: set privacy.adjacency = replace_one");
  check_gaussian(q, "a run with hidden iterates");
  if (q.lattice.quantum() > 0x1p-35 * likely_noise(q))  // `rounding` counts on this
    throw PrivacyError(fmt::format(
        "query {}: the integer lattice is too coarse for hidden iterates: too many records for the noise", q.name));
}

HiddenState LastIterateRun::event(const Query& q) const {
  HiddenState state = run;
  state.steps = q.steps;
  if (const auto* wor = std::get_if<WithoutReplacement>(&q.sampling); wor && wor->among > 0)
    state.population = wor->among, state.batch = wor->most;
  state.noise_multiplier *= q.noise_multiplier;
  state.error += rounding * q.noise_multiplier;
  state.drift += rounding * q.noise_multiplier;
  return state;
}

Events LastIterateRun::events(const Query& q, std::uint64_t first, std::uint64_t last) const {
  return events_of_rounds(event(q), q.steps, first, last);
}

double LastIterateRun::noise_scale(const Query& q, std::uint64_t t) const {
  if (t + run.hybrid < q.steps) return run.before_multiplier;
  return std::hypot(run.directional_multiplier, run.isotropic_multiplier);
}

}  // namespace dpmpi
