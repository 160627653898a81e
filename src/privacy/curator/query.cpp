#include "privacy/curator/query.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "privacy/curator/prefix_noise.hpp"
#include "privacy/curator/query_pass.hpp"

namespace dpmpi {
namespace {

constexpr double largest_eta = 1e-2;

// Records that the released value sums over at most, and the largest and smallest clip among them.
struct Extent {
  std::uint64_t records;
  double largest_clip, smallest_clip;
};

Extent extent(const QuerySpec& spec, std::uint64_t records) {
  const double clip = spec.bound.clip;
  if (!spec.running) return {largest_batch(spec.sampling, records), clip, clip};
  const double first = clip * spec.running->first_clip;
  return {std::min(records, largest_batch(spec.sampling, records) * spec.running->leaves), std::max(clip, first),
          std::min(clip, first)};
}

// What parallel composition over disjoint parts takes for granted of the query.
void check_parts(const QuerySpec& spec, const Disjoint& rule, std::uint64_t records) {
  verify(!spec.running && !spec.hidden,
         "disjoint parts have releases of their own, not running sums or hidden ones");
  verify(!rule.parts.empty() && rule.uses() == spec.steps, "disjoint parts say how many releases there are");
  double used = 0;  // so that no sum overflows
  for (const auto& part : rule.parts) {
    verify(part.uses > 0 && part.clip > 0 && (!spec.relay || part.uses == 1), "uses and clip of a part");
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
  const auto real = [](std::uint64_t n) { return static_cast<double>(n); };
  const double used = real(rule->runs) * (real(rule->first) + real(rule->batch) * (real(rule->leaves) - 1));
  if (rule->first == 0 || rule->leaves == 0 || rule->runs == 0 || used > real(records))
    throw PrivacyError(fmt::format(
        "query {}: a pass of {} records does not fit the data ({} records): a record would be used more than once",
        spec.name, used, records));
}

void check_running(const QuerySpec& spec) {
  const RunningSum& running = *spec.running;
  verify(steps_per_pass(spec) > 0,
         "running sums need a sampling rule that uses a record once in a pass of whole runs");
  verify(running.first_clip > 0 && (!running.adaptive || running.first_clip <= 1), "the clip of the first leaf");
  if (spec.noise == Noise::discrete_gaussian)
    throw PrivacyError(
        fmt::format("query {}: correlated noise has no analysis with privacy.noise = "
                    "discrete_gaussian, allowed: gaussian",
                    spec.name));
}

// What the bound for hidden iterates takes for granted of the query.
void check_hidden(const Query& q) {
  if (!q.hidden || !q.is_private()) return;
  if (q.adjacency != Adjacency::replace_one)
    throw PrivacyError("hidden iterates are analysed under replace_one only: set privacy.adjacency = replace_one");
  if (q.noise != Noise::gaussian)
    throw PrivacyError(
        "hidden iterates have no analysis with privacy.noise = discrete_gaussian, allowed: gaussian");
  verify(q.exact && !q.running && q.hidden->steps == q.steps, "a hidden run is one exact query of all its steps");
  // Query::hidden_rounding counts on this.
  if (q.lattice.quantum() > 1.01 * 0x1p-35 * q.noise_std)
    throw PrivacyError(fmt::format(
        "query {}: the integer lattice is too coarse for hidden iterates: too many records for the noise", q.name));
}

// What the bound for the best of several runs takes for granted of each of them.
void check_repeated(const Query& q) {
  if (!q.repeated) return;
  verify(q.exact && q.dim == 1 && !q.running && !q.hidden && !q.relay && q.smallest_scale == 1 &&
             std::holds_alternative<FullBatch>(q.sampling),
         "repeated runs are exact sums of one coordinate over all records");
  if (q.noise != Noise::gaussian && q.is_private())
    throw PrivacyError(fmt::format(
        "query {}: the best of several runs has no analysis with privacy.noise = discrete_gaussian, allowed: gaussian",
        q.name));
}

void check_one_hot(const Query& q) {
  if (!q.one_hot) return;
  verify(q.exact && !q.running && !q.hidden && q.bound.clip == 1, "unit vectors need an exact query with bound 1");
  if (q.lattice.k < 0)
    throw PrivacyError(fmt::format("query {}: counts with noise of deviation {:.3g} do not fit the integer lattice",
                                   q.name, q.noise_std));
}

void check_scales(const Query& q) {
  verify(q.smallest_scale > 0 && q.smallest_scale <= 1, "a clip is scaled down");
  if (q.smallest_scale == 1) return;
  verify(!q.exact && !q.running && !q.hidden, "the lattice moves with the clip of plain queries only");
  const double worst = q.eta + q.rounding;
  if (worst > largest_eta && q.is_private())
    throw PrivacyError(fmt::format("query {}: the numerical slack of scaled clips is {:.3g}, above {}", q.name,
                                   worst, largest_eta));
  if (q.lattice_at(q.smallest_scale).k > 100)
    throw ConfigError(fmt::format(
        "query {}: clips down to {:.3g} are out of the range of float32 arithmetic: scale clip and data to order 1",
        q.name, q.bound.clip * q.smallest_scale));
}

}  // namespace

std::string_view name(Noise noise) { return noise == Noise::discrete_gaussian ? "discrete_gaussian" : "gaussian"; }

std::optional<Noise> parse_noise(std::string_view text) {
  for (const Noise noise : {Noise::gaussian, Noise::discrete_gaussian})
    if (text == name(noise)) return noise;
  return {};
}

double relative_slack(const NumericSlack& slack, std::size_t dim, double clip, Lattice lattice) {
  const double rounding = rounding_slack(slack, dim, clip, lattice);
  if (slack.summed_rows <= 1) return slack.clip + rounding;
  // One micro-batch of at most b rows is replaced by one, or by two of together at most b + 1 rows, so there are at
  // most three float32 sums. A sum of m rows errs by at most (m + 2) 2^-24 times the sum of the norms (times the
  // kernel's magnification), and is rounded once.
  const double b = static_cast<double>(slack.summed_rows);
  const double summation = slack.magnification * (b * (b + 2) + (b + 1) * (b + 3)) * 0x1p-24 * (1 + slack.clip);
  return slack.clip + summation + rounding;
}

// A coordinate of a sum is rounded by half a quantum at most.
double rounding_slack(const NumericSlack& slack, std::size_t dim, double clip, Lattice lattice) {
  const double rounding = std::sqrt(static_cast<double>(dim)) * lattice.quantum() / clip;
  return (slack.summed_rows <= 1 ? 0.5 : 1.5) * rounding;
}

namespace {

void declare_sum(Query& query, double change) {
  const double std_guess = query.noise_multiplier * change * query.bound.clip * (1 + largest_eta);
  const Extent sum = extent(query, query.records);
  const double largest = sum.largest_clip * (1 + largest_eta);
  query.lattice = query.exact ? Lattice::finest(largest, std_guess, sum.records)
                              : Lattice::choose(query.dim, largest, std_guess, sum.records);
  query.eta = relative_slack(query.slack, query.dim, sum.smallest_clip, query.lattice);
  query.rounding = rounding_slack(query.slack, query.dim, sum.smallest_clip, query.lattice);
  if (query.one_hot) query.eta = query.rounding = 0;  // integers on a lattice that holds them
  if (query.eta > largest_eta && query.is_private())
    throw PrivacyError(fmt::format(
        "query {}: the numerical slack is {:.3g}, above {}: the noise is too large for the integer lattice "
        "of clip {} (lower privacy.noise_multiplier or the dimension {})",
        query.name, query.eta, largest_eta, query.bound.clip, query.dim));
}

// The vector that a phase hands over is rounded to the lattice under either neighbour, by half a quantum in each
// coordinate.
void declare_relay(Query& query, double change) {
  const double clip = query.bound.clip, std_guess = query.noise_multiplier * change * clip * (1 + largest_eta);
  verify(query.relay->range > 0, "the range of a relay");
  if (const auto& own = query.relay->own_noise)
    verify(own->output_share > 0 && own->output_share < 1 && own->total_variation >= 0 && own->total_variation < 1,
           "shares of the budget of phases with noise of their own");
  query.exact = true;
  query.lattice = Lattice::finest(query.relay->range, std_guess, 1);
  query.eta = query.rounding = std::sqrt(static_cast<double>(query.dim)) * query.lattice.quantum() / clip;
  if (query.eta > largest_eta && query.is_private())
    throw PrivacyError(fmt::format(
        "query {}: vectors of coordinates up to {:.3g} with noise of deviation {:.3g} do not fit integers that are "
        "fine enough for a sensitivity of {:.3g}: lower method.radius, method.phases or privacy.noise_multiplier = {:.3g}",
        query.name, query.relay->range, std_guess, clip, query.noise_multiplier));
}

Query declare_whole(const QuerySpec& spec, std::uint32_t site, Adjacency adjacency, std::uint64_t records) {
  Query query;
  static_cast<QuerySpec&>(query) = spec;
  query.site = site;
  query.adjacency = adjacency;
  query.records = records;
  verify(spec.dim > 0 && spec.bound.clip > 0 && records > 0, "a query needs coordinates, a bound and records");
  verify(spec.schedule.begin < spec.schedule.end && spec.schedule.end <= spec.schedule.period &&
             spec.schedule.times > 0,
         "a schedule names steps of its period");
  check_pass(spec, records);
  if (spec.running) check_running(spec);
  // |a record's contribution less that of its replacement|, over the bound.
  const double replaced = !spec.one_hot ? 2.0 : spec.dim == 1 ? 1.0 : std::sqrt(2.0);
  const double change = adjacency == Adjacency::add_remove ? 1.0 : replaced;
  try {
    spec.relay ? declare_relay(query, change) : declare_sum(query, change);
  } catch (const ConfigError& error) {  // a lattice does not know whose it is
    throw ConfigError(fmt::format("query {}, by {} and privacy.noise_multiplier = {:.3g}: {}", query.name,
                                  spec.relay ? "method.radius" : "method.clip", query.noise_multiplier,
                                  error.what()));
  }
  if (adjacency == Adjacency::add_remove && std::holds_alternative<WithoutReplacement>(spec.sampling) &&
      query.is_private())
    throw PrivacyError(
        fmt::format("query {}: sampling without replacement has no analysis under add_remove; set "
                    "privacy.adjacency = replace_one or method.sampling = poisson",
                    spec.name));
  query.sensitivity = change * spec.bound.clip * (1 + query.eta);
  query.noise_std = spec.noise_multiplier * query.sensitivity;
  verify(query.noise_std <= 0x1p36 * query.lattice.quantum(), "the lattice is too fine for its noise");
  if (spec.noise == Noise::discrete_gaussian && query.is_private()) {
    // 2^-50 covers the rounding of the products: the deviation must not fall below the multiplier's promise.
    const double quanta = std::ceil(query.noise_std * query.lattice.scale() * (1 + 0x1p-50));
    query.noise_quanta = static_cast<std::uint64_t>(quanta);
    query.noise_std = quanta * query.lattice.quantum();
  }
  check_hidden(query);
  check_one_hot(query);
  check_repeated(query);
  check_scales(query);
  if (spec.running && query.is_private()) check_kept_noise(query.tree(), spec.dim);
  return query;
}

// Each part is a query of all of its records, released `uses` times with a share of 1 / uses of 1 / z^2.
Query declare_parts(const QuerySpec& spec, const Disjoint& rule, std::uint32_t site, Adjacency adjacency,
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
    own_queries.push_back(declare_whole(own, site, adjacency, part.size));
  }
  Query query = *std::ranges::max_element(own_queries, {}, [](const Query& q) { return q.bound.clip; });
  const L2Bound bound = query.bound;
  static_cast<QuerySpec&>(query) = spec;
  query.bound = bound;
  query.records = records;
  query.exact = spec.exact || spec.relay;
  query.parts = std::move(own_queries);
  return query;
}

}  // namespace

Query Query::declare(const QuerySpec& spec, std::uint32_t site, Adjacency adjacency, std::uint64_t records) {
  const auto* rule = std::get_if<Disjoint>(&spec.sampling);
  verify(rule || !spec.relay, "phases run over disjoint parts");
  return rule ? declare_parts(spec, *rule, site, adjacency, records)
              : declare_whole(spec, site, adjacency, records);
}

const Query& Query::at(std::uint64_t t) const {
  const auto* rule = std::get_if<Disjoint>(&sampling);
  return rule ? parts[rule->part_of(t)] : *this;
}

double Query::noise_scale(std::uint64_t t) const {
  if (!parts.empty()) return is_private() ? at(t).noise_std / noise_std : 1;
  if (!hidden) return 1;
  if (t + hidden->hybrid < hidden->steps) return hidden->before_multiplier;
  return std::hypot(hidden->directional_multiplier, hidden->isotropic_multiplier);
}

Lattice Query::lattice_at(double scale) const {
  if (smallest_scale == 1) return lattice;
  int exponent = 0;  // scale = fraction 2^exponent, fraction in [1/2, 1): 2^-finer is the least power >= scale
  const int finer = std::frexp(scale, &exponent) == 0.5 ? 1 - exponent : -exponent;
  return {lattice.k + finer};
}

// On the lattice that moved along everything is the same as for the clip 2^finer scale in (1/2, 1], in other units.
double Query::sensitivity_scale(double scale) const {
  const double unit = std::ldexp(1.0, lattice.k - lattice_at(scale).k);
  return (scale * (1 + eta - rounding) + unit * rounding) / (1 + eta);
}

double Query::clip_at(std::uint64_t t) const {
  if (!parts.empty()) return at(t).bound.clip;
  return bound.clip * (running && t % running->leaves == 0 ? running->first_clip : 1);
}

}  // namespace dpmpi
