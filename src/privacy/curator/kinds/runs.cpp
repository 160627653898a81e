// Queries of whole runs: the best of several, and one of which the last iterate is released.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "privacy/curator/kinds/fit.hpp"
#include "privacy/curves/repetition_law.hpp"

namespace dpmpi {

namespace {

std::vector<Query> declare_training(const RunCandidate& candidate, const Query& best) {
  std::vector<Query> queries;
  for (const QuerySpec& spec : candidate.queries) {
    if (spec.as<BestOfRuns>())
      throw ConfigError(fmt::format(
          "query {}: a run that is itself the best of secretly many runs cannot be repeated once more", best.name));
    verify((spec.noise_multiplier > 0) == best.is_private(), "runs and scores have noise, or neither has");
    queries.push_back(
        Query::declare(spec, static_cast<std::uint32_t>(queries.size()), best.adjacency, best.records));
  }
  return queries;
}

std::vector<std::vector<Query>> declare_trainings(const std::vector<RunCandidate>& candidates, const Query& best) {
  verify(!candidates.empty(), "a run takes one of its candidates");
  std::vector<std::vector<Query>> all;
  for (const RunCandidate& candidate : candidates) {
    all.push_back(declare_training(candidate, best));
    if (!same_events(events_of_all(all.back()), events_of_all(all.front())))
      throw ConfigError(fmt::format(
          "{} spends another part of the budget than {}; all candidates must cost the same: leave numbers of steps, "
          "batches and the like out of the search",
          candidate.name, candidates.front().name));
  }
  return all;
}

}  // namespace

void BestOfRuns::declare(Query& q) const {
  verify(q.dim == 1, "a run is scored by one number");
  check_gaussian(q, "the best of several runs");
  q.exact = true;
  q.seen_by_ranks = "runs that are not selected";
  q.cost.runs = expected_repetitions(law);
  q.drawing_error = 0x1p-46 * std::max(1.0, static_cast<double>(q.steps) * q.cost.runs);
  if (candidates)
    q.trainings = std::make_shared<const std::vector<std::vector<Query>>>(declare_trainings(*candidates, q));
  declare_sum(q, candidates ? "tune.clip" : "method.clip");
}

Events BestOfRuns::events(const Query& q, std::uint64_t first, std::uint64_t last) const {
  Events run;
  if (q.trainings) run = events_of_all(q.trainings->front());
  run.push_back({Gaussian{q.noise_multiplier}, 1});
  RepeatAndSelect best{law, {}};
  for (const auto& [mechanism, count] : uses(run)) best.run.push_back({mechanism, count});
  return {{std::move(best), last - first}};
}

std::vector<std::string> BestOfRuns::describe(const Query& q) const {
  std::vector<std::string> lines = describe_sum(q);
  if (!q.trainings) return lines;
  lines.push_back(fmt::format("of the best of {:.3g} secret trainings on average, each one of {} candidates",
                              q.cost.runs, q.trainings->size()));
  for (const Query& query : q.trainings->front()) {
    lines.push_back(fmt::format("a training releases {} {} times: {}", query.name, query.steps,
                                dpmpi::describe(query.sampling)));
    if (query.is_private())
      lines.push_back(fmt::format("  with noise of {:.6g} times the sensitivity", query.noise_multiplier));
  }
  return lines;
}

namespace {

/// What rounding adds to the distance of two coupled runs in a step, over the shift of a unit. A person's mean is
/// rounded four times as much as a record on the lattice, and by its own arithmetic, and by the coarser lattice of
/// somebody with up to 2^32 records (docs/theory/last_iterate_accounting.md, persons).
double rounding_of_units(const LastIterateRun& kind, const Query& q) {
  const double on_lattice = kind.rounding * q.noise_multiplier;
  if (q.unit != Unit::person) return on_lattice;
  const auto K = static_cast<double>(q.dim);
  return 4 * on_lattice + kind.run.drift * ((K + 40) * 0x1p-52 + std::sqrt(K) * 0x1p-25);
}

}  // namespace

void LastIterateRun::declare(Query& q) const {
  q.exact = true;
  q.cost.worker_noise = static_cast<double>(run.hybrid) / static_cast<double>(q.steps);
  declare_sum(q);
  if (!q.is_private()) return;
  if (q.adjacency != Adjacency::replace_one)
    throw PrivacyError("hidden iterates are analysed under replace_one only: set privacy.adjacency = replace_one");
  check_gaussian(q, "a run with hidden iterates");
  if (q.unit == Unit::person && run.failure > 0)
    throw PrivacyError(
        "data.person: method.clip_failure is the chance that a clip acts on one of so many records, and how many a "
        "person has is secret: with hidden iterates it must be 0");
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
  const double rounded = rounding_of_units(*this, q);
  state.error += rounded;
  state.drift += rounded;
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
