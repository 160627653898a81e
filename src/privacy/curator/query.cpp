#include "privacy/curator/query.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/events/group.hpp"

namespace dpmpi {

std::string_view name(Noise noise) { return noise == Noise::discrete_gaussian ? "discrete_gaussian" : "gaussian"; }

std::optional<Noise> parse_noise(std::string_view text) {
  for (const Noise noise : {Noise::gaussian, Noise::discrete_gaussian})
    if (text == name(noise)) return noise;
  return {};
}

std::uint64_t Schedule::releases_before(std::uint64_t step) const {
  const std::uint64_t place = std::clamp(step % period, begin, end);
  return (step / period * (end - begin) + place - begin) * times;
}

std::uint64_t Schedule::step_of(std::uint64_t release) const {
  const std::uint64_t visit = release / times;
  return visit / (end - begin) * period + begin + visit % (end - begin);
}

namespace {

bool sums_persons(const NumericSlack& slack, Unit unit) { return unit == Unit::person && slack.summed_persons > 1; }

}  // namespace

double relative_slack(const NumericSlack& slack, std::size_t dim, double clip, Lattice lattice, Unit unit) {
  const double rounding = rounding_slack(slack, dim, clip, lattice, unit);
  if (sums_persons(slack, unit)) {
    // The rows of a person are as long as `room` clips together. P persons at most on one side, P + 1 on the other.
    const double arithmetic = MeanBound::room * slack.clip;
    const double persons = 2 * static_cast<double>(slack.summed_persons) + 1;
    const double chain = static_cast<double>(slack.summed_rows) + 2;
    return arithmetic + MeanBound::room * persons * chain * 0x1p-24 * (1 + arithmetic) + rounding;
  }
  if (slack.summed_rows <= 1) return slack.clip + rounding;
  // One micro-batch of at most b rows is replaced by one, or by two of together at most b + 1 rows, so there are at
  // most three float32 sums. A sum of m rows errs by at most (m + 2) 2^-24 times the sum of the norms (times the
  // kernel's magnification), and is rounded once.
  const double b = static_cast<double>(slack.summed_rows);
  const double summation = slack.magnification * (b * (b + 2) + (b + 1) * (b + 3)) * 0x1p-24 * (1 + slack.clip);
  return slack.clip + summation + rounding;
}

// A coordinate of a sum is rounded by half a quantum at most. P persons make P / 2 sums at most, rounded up.
double rounding_slack(const NumericSlack& slack, std::size_t dim, double clip, Lattice lattice, Unit unit) {
  const double rounding = std::sqrt(static_cast<double>(dim)) * lattice.quantum() / clip;
  if (sums_persons(slack, unit)) return 0.5 * (static_cast<double>(slack.summed_persons) + 1) * rounding;
  return (slack.summed_rows <= 1 ? 0.5 : 1.5) * rounding;
}

namespace {

// What parallel composition over disjoint parts takes for granted of the query.
void check_parts(const QuerySpec& spec, const Disjoint& rule, std::uint64_t records) {
  verify(!rule.parts.empty() && rule.uses() == spec.steps, "disjoint parts say how many releases there are");
  double used = 0;  // so that no sum overflows
  for (const auto& part : rule.parts) {
    verify(part.uses > 0 && part.clip > 0, "uses and clip of a part");
    if (part.size == 0) throw PrivacyError(fmt::format("query {}: a part without records", spec.name));
    used += static_cast<double>(part.size);
  }
  if (used > static_cast<double>(records))
    throw PrivacyError(fmt::format(
        "query {}: disjoint parts of {} records do not fit the data ({} records): a record would be in two parts",
        spec.name, used, records));
}

// In double: a pass of more than 2^53 records is refused as well.
void check_pass(const QuerySpec& spec, std::uint64_t records) {
  const auto* rule = std::get_if<Shuffled>(&spec.sampling);
  if (!rule) return;
  const double used = real(rule->runs) * (real(rule->first) + real(rule->batch) * (real(rule->leaves) - 1));
  if (rule->first == 0 || rule->leaves == 0 || rule->runs == 0 || used > real(records))
    throw PrivacyError(fmt::format(
        "query {}: a pass of {} records does not fit the data ({} records): a record would be used more than once",
        spec.name, used, records));
}

// The noise of a query of this sensitivity.
void add_noise(Query& query) {
  query.noise_std = query.noise_multiplier * query.sensitivity;
  verify(query.noise_std <= 0x1p36 * query.lattice.quantum(), "the lattice is too fine for its noise");
  if (query.noise != Noise::discrete_gaussian || !query.is_private()) return;
  // 2^-50 covers the rounding of the products: the deviation must not fall below the multiplier's promise.
  const double quanta = std::ceil(query.noise_std * query.lattice.scale() * (1 + 0x1p-50));
  query.noise_quanta = static_cast<std::uint64_t>(quanta);
  query.noise_std = quanta * query.lattice.quantum();
}

Query declare_whole(const QuerySpec& spec, std::uint32_t query_index, Adjacency adjacency, std::uint64_t records) {
  Query query;
  static_cast<QuerySpec&>(query) = spec;
  query.query_index = query_index;
  query.adjacency = adjacency;
  query.records = records;
  query.change = adjacency == Adjacency::add_remove ? 1 : 2;
  verify(spec.dim > 0 && spec.bound.clip > 0 && records > 0, "a query needs coordinates, a bound and records");
  verify(spec.schedule.begin < spec.schedule.end && spec.schedule.end <= spec.schedule.period &&
             spec.schedule.times > 0,
         "a schedule names steps of its period");
  check_pass(spec, records);
  const bool for_persons = spec.unit == Unit::person || spec.slots_of_unit > 1;
  if (for_persons && !std::visit([](const auto& kind) { return kind.bounds_persons; }, spec.kind))
    throw PrivacyError(fmt::format(
        "data.person: what the release {} of this method tells is bounded for one record, and not for all "
        "records of a person. The guide on persons lists the methods that have a bound for them, dp-sgd first",
        spec.name));
  if (spec.slots_of_unit > 1 && spec.as<BestOfRuns>())
    throw PrivacyError(
        "data.person_sampling = records: the best of several trainings has no analysis for persons whose records are "
        "drawn one by one, allowed: persons");
  if (spec.slots_of_unit > 1 && spec.as<LastIterateRun>())
    throw PrivacyError(
        "data.person_sampling = records: hidden iterates have no analysis for persons whose records are drawn one by "
        "one, allowed: persons");
  if (adjacency == Adjacency::add_remove && std::holds_alternative<WithoutReplacement>(spec.sampling) &&
      query.is_private())
    throw PrivacyError(
        fmt::format("query {}: sampling without replacement has no analysis under add_remove; set "
                    "privacy.adjacency = replace_one or method.sampling = poisson",
                    spec.name));
  std::visit([&](const auto& kind) { kind.declare(query); }, spec.kind);
  query.sensitivity = query.change * spec.bound.clip * (1 + query.eta);
  add_noise(query);
  return query;
}

// Each part is a query of all of its records, released `uses` times with a share of 1 / uses of 1 / z^2.
Query declare_parts(const QuerySpec& spec, const Disjoint& rule, std::uint32_t query_index, Adjacency adjacency,
                    std::uint64_t records) {
  check_parts(spec, rule, records);
  std::vector<Query> own_queries;
  for (const auto& part : rule.parts) {
    QuerySpec own = spec;
    own.sampling = FullBatch{};
    own.schedule = {};
    own.bound.clip = part.clip;
    own.noise_multiplier *= std::sqrt(static_cast<double>(part.uses));
    own.steps = part.uses;
    own_queries.push_back(declare_whole(own, query_index, adjacency, part.size));
  }
  Query query = *std::ranges::max_element(own_queries, {}, [](const Query& q) { return q.bound.clip; });
  const L2Bound bound = query.bound;
  static_cast<QuerySpec&>(query) = spec;
  query.bound = bound;
  query.records = records;
  query.parts = std::move(own_queries);
  return query;
}

}  // namespace

Query Query::declare(const QuerySpec& spec, std::uint32_t query_index, Adjacency adjacency, std::uint64_t records) {
  const auto* rule = std::get_if<Disjoint>(&spec.sampling);
  verify(std::visit([&](const auto& kind) { return kind.takes(spec.sampling); }, spec.kind),
         "a query whose sampling rule its kind does not take");
  return rule ? declare_parts(spec, *rule, query_index, adjacency, records)
              : declare_whole(spec, query_index, adjacency, records);
}

void Query::assume_noise(const QuerySpec& spec) {
  noise_multiplier = spec.noise_multiplier;
  if (!trainings) return;
  std::vector<std::vector<Query>> assumed = *trainings;
  const auto& candidates = *spec.as<BestOfRuns>()->candidates;
  for (std::size_t c = 0; c < assumed.size(); ++c)
    for (std::size_t i = 0; i < assumed[c].size(); ++i) assumed[c][i].assume_noise(candidates[c].queries[i]);
  trainings = std::make_shared<const std::vector<std::vector<Query>>>(std::move(assumed));
}

const Query& Query::at(std::uint64_t t) const {
  const auto* rule = std::get_if<Disjoint>(&sampling);
  return rule ? parts[rule->part_of(t)] : *this;
}

std::uint64_t Query::releases_before(std::uint64_t step) const {
  return std::min(steps, schedule.releases_before(step));
}

Events Query::events(std::uint64_t first, std::uint64_t last) const {
  if (first >= last) return {};
  if (!is_private()) return {{NonPrivate{}, last - first}};
  return of_group(std::visit([&](const auto& its) { return its.events(*this, first, last); }, kind), slots_of_unit);
}

Events events_of_all(const std::vector<Query>& queries) {
  Events all;
  for (const Query& query : queries)
    for (Event& event : query.events(0, query.steps)) all.push_back(std::move(event));
  return all;
}

std::vector<std::string> Query::describe() const {
  return std::visit([&](const auto& its) { return its.describe(*this); }, kind);
}

double Query::noise_scale(std::uint64_t t) const {
  if (!parts.empty()) return is_private() ? at(t).noise_std / noise_std : 1;
  const auto* run = as<LastIterateRun>();
  return run ? run->noise_scale(*this, t) : 1;
}

double Query::clip_at(std::uint64_t t) const {
  if (!parts.empty()) return at(t).bound.clip;
  const auto* running = as<RunningSum>();
  return bound.clip * (running && t % running->leaves(*this) == 0 ? running->first_clip : 1);
}

double Query::votes() const {
  const auto* running = as<RunningSum>();
  return as<Sum>() ? as<Sum>()->votes : running ? running->votes : 0;
}

Lattice Query::lattice_at(double scale) const {
  if (smallest_scale() == 1) return lattice;
  int exponent = 0;  // scale = fraction 2^exponent, fraction in [1/2, 1): 2^-finer is the least power >= scale
  const int finer = std::frexp(scale, &exponent) == 0.5 ? 1 - exponent : -exponent;
  return {lattice.k + finer};
}

// On the lattice that moved along everything is the same as for the clip 2^finer scale in (1/2, 1], in other units.
double Query::sensitivity_scale(double scale) const {
  const double unit = std::ldexp(1.0, lattice.k - lattice_at(scale).k);
  return (scale * (1 + eta - rounding) + unit * rounding) / (1 + eta);
}

}  // namespace dpmpi
