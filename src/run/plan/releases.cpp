#include "run/plan/releases.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/events/group.hpp"
#include "privacy/loss_distributions/transform.hpp"
#include "privacy/promise/calibrate.hpp"

namespace dpmpi {
namespace {

// What the config says of a query, and not the method.
void complete(QuerySpec& spec, const ReleaseTerms& terms, const BlockLayout& layout) {
  spec.noise = terms.law;
  spec.unit = terms.slot_unit;
  spec.slots_of_unit = terms.slots_of_unit;
  spec.sampling = stratified(spec.sampling, layout);
  auto* const best = std::get_if<BestOfRuns>(&spec.kind);
  if (!best || !best->candidates) return;
  std::vector<RunCandidate> candidates = *best->candidates;
  for (RunCandidate& candidate : candidates)
    for (QuerySpec& own : candidate.queries) complete(own, terms, layout);
  best->candidates = std::make_shared<const std::vector<RunCandidate>>(std::move(candidates));
}

}  // namespace

ReleaseTerms::ReleaseTerms(const RunConfig& config)
    : is_private(config.is_private()),
      law(config.privacy.law()),
      accountant(config.privacy.accountant),
      slot_unit(config.data.slot_unit()),
      slots_of_unit(config.data.slots_of_unit()) {}

std::vector<Query> Releases::declare(const ReleaseTerms& terms, double noise_multiplier) const {
  std::vector<Query> queries;
  for (auto spec : specs(noise_multiplier)) {
    complete(spec, terms, layout);
    verify((spec.noise_multiplier > 0) == terms.is_private, "releases have noise unless privacy.noise = none");
    queries.push_back(Query::declare(spec, static_cast<std::uint32_t>(queries.size()), adjacency, layout.records));
  }
  return queries;
}

std::vector<Event> Releases::events(const std::vector<Query>& queries) const {
  return times(events_of(queries, 0, steps), runs);
}

std::vector<Event> events_of(const std::vector<Query>& queries, std::uint64_t first, std::uint64_t last) {
  std::vector<Event> all;
  for (const auto& query : queries)
    for (auto& event : query.events(query.releases_before(first), query.releases_before(last)))
      all.push_back(event);
  return all;
}

// Of so many runs, each as often as all others.
std::vector<Event> times(std::vector<Event> events, std::uint64_t runs) {
  for (Event& event : events) {
    if (event.count > (std::uint64_t{1} << 62) / runs)
      throw ConfigError(
          fmt::format("{} runs of {} uses of one mechanism are too many to count", runs, event.count));
    event.count *= runs;
  }
  return events;
}

namespace {

// Probability that a pair of normals is farther out than a radius. Up to resolved_radius the sampler (Box-Muller,
// not the exact discrete Gaussian) has every lattice point; what lies beyond counts as lost.
double beyond(double radius) { return radius > 0 ? std::exp(-0.5 * radius * radius) : 1; }

// Probability that one of so many normals is beyond what is resolved, under either neighbour.
double ends(std::uint64_t normals) { return static_cast<double>(normals + 1) * beyond(resolved_radius); }

// The same of the noise that ranks share. In the coupling of a run with hidden iterates a step shifts by at most
// the whole run's mu (in standard deviations); the shift of all is taken to be in the worst place, one pair.
double worker_noise_delta(const Query& q, double mu) {
  if (q.worker_noise == 0) return 0;
  const double shift = q.as<LastIterateRun>() ? beyond(resolved_radius - mu) : 0;
  return q.cost.worker_noise * static_cast<double>(q.steps) * (shift + ends(q.worker_noise));
}

// Share of the releases that a record takes part in: expected, or the largest that it can be.
double share_of_releases(const Query& q) {
  const auto quotient = [](std::uint64_t a, std::uint64_t b) {
    return static_cast<double>(a) / static_cast<double>(b);
  };
  const auto* wor = std::get_if<WithoutReplacement>(&q.sampling);
  if (wor && wor->among > 0) return quotient(wor->most, wor->among);
  if (std::holds_alternative<Shuffled>(q.sampling))
    return quotient(largest_batch(q.sampling, q.records), q.records);
  if (const auto* rule = std::get_if<Disjoint>(&q.sampling))
    return quotient(std::ranges::max(rule->parts, {}, &Disjoint::Part::uses).uses, q.steps);
  return expected_share(q.sampling, q.records);
}

/// The chance that what a release draws of a unit is not hidden in the one pair that it shifts.
double shown_by_noise(const Query& q) {
  const double z = q.noise_multiplier / q.shift.size;
  const auto* poisson = std::get_if<Poisson>(&q.sampling);
  if (poisson && q.slots_of_unit > 1) return chance_beyond({poisson->rate, z, q.slots_of_unit}, resolved_radius);
  const auto slots = static_cast<double>(q.slots_of_unit);
  return share_of_releases(q) * slots * beyond(resolved_radius - slots / z);
}

// Probability that some release lands where a neighbour's noise may not reach: by union over pairs of coordinates
// and steps, the shifts of what a record takes part in, each in one pair (the worst place for it), the others
// unshifted.
double sampler_delta(const std::vector<Query>& queries, double mu) {
  double total = 0;
  for (const auto& q : queries) {
    if (q.noise == Noise::discrete_gaussian) continue;  // reaches every integer
    const double drawn = share_of_releases(q) * static_cast<double>(q.slots_of_unit);
    total +=
        static_cast<double>(q.steps) * q.cost.runs * (q.shift.values * shown_by_noise(q) + drawn * ends(q.dim));
    total += worker_noise_delta(q, mu) + q.drawing_error;
    if (!q.trainings) continue;
    double worst = 0;
    for (const std::vector<Query>& training : *q.trainings) worst = std::max(worst, sampler_delta(training, mu));
    total += static_cast<double>(q.steps) * q.cost.runs * worst;
  }
  return total;
}

// `mu`: of a whole hidden run.
void refuse_ends(const std::vector<Query>& queries, std::uint64_t runs, double delta, double mu) {
  const double lost = static_cast<double>(runs) * sampler_delta(queries, mu);
  if (lost <= 0.01 * delta) return;
  // The sampler's ends are that likely where the noise is far smaller than what it is to hide: no delta is at
  // fault.
  if (lost > 1e-9)
    throw PrivacyError(fmt::format(
        "the noise is too weak to hide a record: outcomes of probability up to {:.3g} could tell neighbours apart. "
        "Choose a smaller privacy.epsilon (1 is strong, 10 is weak) or a larger privacy.noise_multiplier",
        std::min(1.0, lost)));
  throw PrivacyError(fmt::format(
      "delta = {:.3g} is too small for noise that ends at {} standard deviations: outcomes of probability "
      "up to {:.3g} could tell neighbours apart; choose a larger privacy.delta or more noise",
      delta, resolved_radius, lost));
}

}  // namespace

void refuse_short_noise(const std::vector<Query>& queries, std::uint64_t runs, const Guarantee& promise) {
  refuse_ends(queries, runs, promise.delta, gdp_mu(promise.epsilon, promise.delta));
}

Promise no_promise(Adjacency adjacency, double delta) {
  Promise promise;
  promise.guarantee = {.epsilon = infinity, .delta = delta};
  promise.attacker = attacker_table({}, adjacency, promise.guarantee);
  return promise;
}

Promise promise_of(const ReleaseTerms& terms, const Releases& releases, double noise_multiplier, double epsilon,
                   double delta) {
  Promise promise;
  Calibration noise{noise_multiplier};
  const KeptTransforms kept;  // from the search to the attacker's table
  // Events do not depend on lattice or slack, so a multiplier can be tried without declaring the queries.
  const auto unit_queries = releases.declare(terms, 1.0);
  const auto events_for = [&](double multiplier) {
    auto queries = unit_queries;
    const auto specs = releases.specs(multiplier);
    for (std::size_t i = 0; i < queries.size(); ++i) queries[i].assume_noise(specs[i]);
    return releases.events(queries);
  };
  if (noise.value == 0) noise = calibrate_noise(events_for, {epsilon, delta, releases.adjacency}, terms.accountant);
  promise.noise_multiplier = noise.value;
  const auto queries = releases.declare(terms, promise.noise_multiplier);
  refuse_ends(queries, releases.runs, delta, 0);  // accounting for nearly no noise takes long
  const auto events = releases.events(queries);
  promise.guarantee = epsilon_guarantee(events, releases.adjacency, delta, terms.accountant, noise.answered.get());
  if (noise_multiplier == 0) verify(promise.guarantee.epsilon <= epsilon, "the calibrated noise keeps the target");
  promise.attacker = attacker_table(events, releases.adjacency, promise.guarantee);
  return promise;
}

}  // namespace dpmpi
