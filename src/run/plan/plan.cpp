#include "run/plan/plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <new>
#include <stdexcept>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "core/numbers/real.hpp"
#include "data/memory.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/events/group.hpp"
#include "privacy/loss_distributions/transform.hpp"
#include "privacy/promise/calibrate.hpp"
#include "run/plan/trains_models.hpp"

namespace dpmpi {
namespace {

// These queries, and those of what they repeat.
std::vector<QuerySpec> with_those_of_runs(std::vector<QuerySpec> queries) {
  std::vector<QuerySpec> all = queries;
  for (const QuerySpec& query : queries)
    if (const auto* best = query.as<BestOfRuns>(); best && best->candidates)
      for (const RunCandidate& candidate : *best->candidates)
        for (const QuerySpec& own : with_those_of_runs(candidate.queries)) all.push_back(own);
  return all;
}

// data.blocks, resolved: `auto` is the largest power of two up to 16 that leaves every block, in a step of every
// query, one expected row and the effort of 64 (N1).
std::uint32_t blocks_of(const RunConfig& config, const MethodPlan& method, std::uint64_t records) {
  if (config.data.blocks > 0) return static_cast<std::uint32_t>(config.data.blocks);
  std::uint32_t blocks = 16;
  for (const auto& query : with_those_of_runs(method.queries(1.0))) {
    const double batch = expected_batch(query.sampling, records);
    while (blocks > 1 && (batch / blocks < 1 || batch / blocks * query.effort < 64)) blocks /= 2;
  }
  return blocks;
}

// What the config says of a query, and not the method.
void complete(QuerySpec& spec, const RunConfig& config, const BlockLayout& layout) {
  spec.noise = config.privacy.law();
  spec.unit = config.data.slot_unit();
  spec.slots_of_unit = config.data.slots_of_unit();
  spec.sampling = stratified(spec.sampling, layout);
  auto* const best = std::get_if<BestOfRuns>(&spec.kind);
  if (!best || !best->candidates) return;
  std::vector<RunCandidate> candidates = *best->candidates;
  for (RunCandidate& candidate : candidates)
    for (QuerySpec& own : candidate.queries) complete(own, config, layout);
  best->candidates = std::make_shared<const std::vector<RunCandidate>>(std::move(candidates));
}

std::vector<Query> declare_queries(const RunConfig& config, const Outline& outline, double noise_multiplier) {
  std::vector<Query> queries;
  for (auto spec : outline.method->queries(noise_multiplier)) {
    complete(spec, config, outline.layout);
    verify((spec.noise_multiplier > 0) == config.is_private(), "releases have noise unless privacy.noise = none");
    queries.push_back(Query::declare(spec, static_cast<std::uint32_t>(queries.size()), outline.adjacency,
                                     outline.layout.records));
  }
  return queries;
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

double largest_slack_of(const std::vector<Query>& queries) {
  double slack = 0;
  for (const Query& query : queries) {
    slack = std::max(slack, query.eta);
    if (!query.trainings) continue;
    for (const std::vector<Query>& training : *query.trainings) slack = std::max(slack, largest_slack_of(training));
  }
  return slack;
}

double resolve_delta(const RunConfig& config, const PublicFacts& facts) {
  const auto n = static_cast<double>(facts.data.units());
  const double delta = config.privacy.delta > 0 ? config.privacy.delta : std::pow(n, -1.1);
  if (config.privacy.delta > 0 && delta * n > 1)
    throw PrivacyError(
        fmt::format("privacy.delta = {} is above 1/n = {:.3g}: a mechanism that publishes a whole record would "
                    "keep that promise; choose a smaller delta",
                    delta, 1 / n));
  if (delta >= 1)
    throw PrivacyError(
        fmt::format("delta = n^-1.1 is not below 1 for n = {}: set privacy.delta", facts.data.units()));
  return delta;
}

// `mu`: of a whole hidden run.
void refuse_short_noise(const std::vector<Query>& queries, std::uint64_t runs, double delta, double mu) {
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

std::vector<Event> Plan::events(std::uint64_t first, std::uint64_t last) const {
  return events_of(queries, first, last);
}

std::vector<Event> Plan::events() const { return times(events(0, steps), runs); }

bool Plan::hides_times() const {
  return std::ranges::any_of(queries, [](const Query& query) { return query.hides_times(); });
}

double Plan::largest_slack() const { return largest_slack_of(queries); }

void Promise::archive(Archive& archive) {
  archive.field("noise_multiplier", noise_multiplier);
  archive.field("epsilon", guarantee.epsilon);
  archive.field("delta", guarantee.delta);
  archive.field("least", guarantee.least);
  const auto pairs = [&](const char* name, auto& list, const char* first, const char* second) {
    std::uint64_t size = list.size();
    archive.field(name, size);
    list.resize(size);
    for (auto& [one, other] : list) {
      archive.field(first, one);
      archive.field(second, other);
    }
  };
  std::vector<std::pair<std::string, std::string>> refusals(guarantee.refusals.begin(), guarantee.refusals.end());
  pairs("by", guarantee.by, "name", "bound");
  pairs("refusals", refusals, "name", "reason");
  pairs("attacker", attacker, "rate", "power");
  guarantee.refusals = {refusals.begin(), refusals.end()};
}

Outline make_outline(const RunConfig& config, const PublicFacts& facts, std::uint64_t runs) {
  std::shared_ptr<const MethodPlan> method = config.method->plan(facts);
  const std::uint32_t blocks = blocks_of(config, *method, facts.data.records);
  return {method, BlockLayout::of(facts.data, blocks), method->steps, facts.adjacency, runs};
}

Plan make_draft(const RunConfig& config, const Outline& outline) {
  const double given = config.privacy.noise_multiplier;
  return {outline, declare_queries(config, outline, !config.is_private() ? 0 : given > 0 ? given : 1), {}};
}

Promise make_promise(const RunConfig& config, const PublicFacts& facts, const Outline& outline) {
  Promise promise;
  const double delta = resolve_delta(config, facts);
  if (!config.is_private()) {
    promise.guarantee = {.epsilon = infinity, .delta = delta};
    promise.attacker = attacker_table({}, facts.adjacency, promise.guarantee);
    return promise;
  }
  Calibration noise{config.privacy.noise_multiplier};
  const KeptTransforms kept;  // from the search to the attacker's table
  // Events do not depend on lattice or slack, so a multiplier can be tried without declaring the queries.
  const auto unit_queries = declare_queries(config, outline, 1.0);
  const auto events_for = [&](double multiplier) {
    auto queries = unit_queries;
    const auto specs = outline.method->queries(multiplier);
    for (std::size_t i = 0; i < queries.size(); ++i) queries[i].assume_noise(specs[i]);
    return times(events_of(queries, 0, outline.steps), outline.runs);
  };
  if (noise.value == 0)
    noise =
        calibrate_noise(events_for, {config.privacy.epsilon, delta, facts.adjacency}, config.privacy.accountant);
  promise.noise_multiplier = noise.value;
  const auto queries = declare_queries(config, outline, promise.noise_multiplier);
  refuse_short_noise(queries, outline.runs, delta, 0);  // accounting for nearly no noise takes long
  const auto events = times(events_of(queries, 0, outline.steps), outline.runs);
  promise.guarantee =
      epsilon_guarantee(events, facts.adjacency, delta, config.privacy.accountant, noise.answered.get());
  if (config.privacy.noise_multiplier == 0)
    verify(promise.guarantee.epsilon <= config.privacy.epsilon, "the calibrated noise keeps the target");
  promise.attacker = attacker_table(events, facts.adjacency, promise.guarantee);
  return promise;
}

Plan make_plan(const RunConfig& config, const Outline& outline, Promise promise) {
  Plan plan{outline, declare_queries(config, outline, promise.noise_multiplier), std::move(promise)};
  if (!config.is_private()) return plan;
  refuse_short_noise(plan.queries, plan.runs, plan.delta(), gdp_mu(plan.epsilon(), plan.delta()));
  if (config.privacy.epsilon > 0 && plan.epsilon() > config.privacy.epsilon)
    throw PrivacyError(fmt::format("the calibrated plan has epsilon {} above privacy.epsilon = {}", plan.epsilon(),
                                   config.privacy.epsilon));
  return plan;
}

Plan make_plan(const RunConfig& config, const PublicFacts& facts) {
  const Outline outline = make_outline(config, facts);
  Plan plan = make_plan(config, outline, make_promise(config, facts, outline));
  if (const auto* const trains = trains_models(facts))
    plan.training = trains->plan(config, plan, trains->promise(config, plan));
  return plan;
}

PublicFacts public_facts(const RunConfig& config, const DatasetFacts& data, const Objective& objective) {
  PublicFacts facts{data, &objective, config.privacy.which()};
  facts.bias = static_cast<float>(config.data.bias);
  facts.delta = resolve_delta(config, facts);
  if (!config.is_private()) {
    facts.rho = infinity;
    return facts;
  }
  facts.epsilon = config.privacy.epsilon;
  facts.noise_multiplier = config.privacy.noise_multiplier;
  facts.ranks_trusted = config.privacy.trust == "cluster";
  facts.rho = config.privacy.noise_multiplier > 0 ? 1 / config.privacy.noise_multiplier
                                                  : gdp_mu(config.privacy.epsilon, facts.delta);
  return facts;
}

std::unique_ptr<Objective> make_objective(const RunConfig& config, const DatasetFacts& data) {
  try {
    auto objective = config.objective->make({data.features, data.storage, static_cast<float>(config.data.bias)});
    objective->l2 = config.l2;
    // float32 iterate, gradient and release, the lattice's int32 and int64, the kernels' copy of the weights.
    const double bytes = 32.0 * static_cast<double>(objective->dim());
    if (bytes > static_cast<double>(available_memory()))
      throw ConfigError(fmt::format(
          "objective.{} has {} parameters: about {:.1f} GB a rank, and {:.1f} GB are free", config.objective_name,
          objective->dim(), bytes * 1e-9, static_cast<double>(available_memory()) * 1e-9));
    return objective;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw ConfigError(
      fmt::format("objective.{} does not fit in memory: make its layers, classes or data.features smaller",
                  config.objective_name));
}

}  // namespace dpmpi
