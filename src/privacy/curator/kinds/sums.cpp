#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "privacy/curator/kinds/fit.hpp"
#include "privacy/curator/votes.hpp"

namespace dpmpi {

// All leaves of a running sum are on one lattice. Where their clips follow norms it is 2^13 times finer, if there
// is room, so that rounding is small beside clips far below the largest.
Lattice fit_lattice(const Query& q, double largest, std::uint64_t terms, std::string_view option) {
  const bool leaves_differ = q.as<RunningSum>() && q.votes() > 0;
  try {
    return q.exact ? Lattice::finest(largest, likely_noise(q), terms)
                   : Lattice::choose(leaves_differ ? q.dim << 26 : q.dim, largest, likely_noise(q), terms);
  } catch (const ConfigError& error) {  // a lattice does not know whose it is
    throw ConfigError(fmt::format("query {}, by {} and privacy.noise_multiplier = {:.3g}: {}", q.name, option,
                                  q.noise_multiplier, error.what()));
  }
}

void declare_sum(Query& q, std::uint64_t records, double smallest_clip, double largest_clip,
                 std::string_view option) {
  q.lattice = fit_lattice(q, largest_clip * (1 + largest_eta), records, option);
  q.eta = relative_slack(q.slack, q.dim, smallest_clip, q.lattice, q.unit);
  q.rounding = rounding_slack(q.slack, q.dim, smallest_clip, q.lattice, q.unit);
  q.largest_term = largest_clip * (1 + q.eta);
  if (q.eta > largest_eta && q.is_private())
    throw PrivacyError(fmt::format(
        "query {}: the numerical slack is {:.3g}, above {}: the noise is too large for the integer lattice "
        "of {} = {} (lower privacy.noise_multiplier or the dimension {})",
        q.name, q.eta, largest_eta, option, q.bound.clip, q.dim));
}

void declare_sum(Query& q, std::string_view option) {
  declare_sum(q, largest_batch(q.sampling, q.records), q.bound.clip, q.bound.clip, option);
}

void check_gaussian(const Query& q, std::string_view what) {
  if (q.noise != Noise::gaussian && q.is_private())
    throw PrivacyError(fmt::format(
        "query {}: {} has no analysis with privacy.noise = discrete_gaussian, allowed: gaussian", q.name, what));
}

void check_votes(const Query& q) {
  if (q.votes() == 0) return;
  verify(q.votes() > 0 && q.votes() < 1 && q.dim > 1,
         "votes have a share of the bound and a coordinate of their own");
  verify(q.bound.clipping == Clipping::flat, "votes are on one clip");
  verify(!std::holds_alternative<Disjoint>(q.sampling), "votes are not for disjoint parts");
}

Events events_of_rounds(const Mechanism& round, std::uint64_t releases, std::uint64_t first, std::uint64_t last) {
  const auto begun = [&](std::uint64_t before) { return (before + releases - 1) / releases; };
  if (begun(last) == begun(first)) return {};
  return {{round, begun(last) - begun(first)}};
}

Events events_of_sums(const Query& q, std::uint64_t first, std::uint64_t last) {
  const double z = q.noise_multiplier;
  const bool discrete = q.noise == Noise::discrete_gaussian;
  const Mechanism whole = discrete ? Mechanism{DiscreteGaussian{z}} : Gaussian{z};
  if (const auto* rule = std::get_if<Poisson>(&q.sampling); rule && rule->rate < 1)
    return {{discrete ? Mechanism{PoissonDiscreteGaussian{rule->rate, z}} : PoissonGaussian{rule->rate, z},
             last - first}};
  // Of the block with the largest share: a record's chances are those of its block, whose number of selected
  // records is public.
  if (const auto* rule = std::get_if<WithoutReplacement>(&q.sampling)) {
    const bool blocks = rule->among > 0;
    const std::uint64_t among = blocks ? rule->among : q.records, most = blocks ? rule->most : rule->batch;
    return {
        {discrete ? Mechanism{WorDiscreteGaussian{among, most, z}} : WorGaussian{among, most, z}, last - first}};
  }
  if (const auto* rule = std::get_if<BallsInBins>(&q.sampling))
    return events_of_rounds(RandomAllocationGaussian{rule->steps, 1, z}, rule->steps, first, last);
  std::uint64_t round = 1;
  if (const auto* rule = std::get_if<Cyclic>(&q.sampling)) round = rule->parts;
  if (const auto* rule = std::get_if<Shuffled>(&q.sampling)) round = rule->steps_per_pass();
  if (std::holds_alternative<Disjoint>(q.sampling)) round = q.steps;
  return events_of_rounds(whole, round, first, last);
}

std::string describe_clip(const Query& q) {
  return fmt::format("clip {:.6g}, sensitivity {:.6g} (slack {:.2g}), noise std {:.6g}", q.bound.clip,
                     q.sensitivity, q.eta, q.noise_std);
}

std::string describe_votes(const Query& q) {
  return fmt::format("{:.3g} of the squared clip is for votes: what is left clips at {:.6g}", q.votes(),
                     split_bound(q.bound, q.votes()).clip);
}

std::vector<std::string> describe_sum(const Query& q) {
  return {describe_clip(q), fmt::format("noise over mean: {:.3g} per coordinate of the mean",
                                        q.noise_std / expected_batch(q.sampling, q.records))};
}

namespace {

// What the event of balls in bins takes for granted.
void check_bins(const Query& q) {
  if (!std::holds_alternative<BallsInBins>(q.sampling)) return;
  check_gaussian(q, "method.sampling = balls_in_bins");
  if (q.slots_of_unit > 1)
    throw PrivacyError(
        "data.person_sampling = records: a person's records would be in several steps of an epoch of method.sampling "
        "= balls_in_bins, which has no analysis, allowed: persons");
}

}  // namespace

void Sum::declare(Query& q) const {
  check_bins(q);
  verify(smallest_scale > 0 && smallest_scale <= 1, "a clip is scaled down");
  check_votes(q);
  declare_sum(q);
  if (smallest_scale == 1) return;
  if (const double worst = q.eta + q.rounding; worst > largest_eta && q.is_private())
    throw PrivacyError(fmt::format("query {}: the numerical slack of scaled clips is {:.3g}, above {}", q.name,
                                   worst, largest_eta));
  if (q.lattice_at(smallest_scale).k > 100)
    throw ConfigError(fmt::format(
        "query {}: clips down to {:.3g} are out of the range of float32 arithmetic: scale clip and data to order 1",
        q.name, q.bound.clip * smallest_scale));
}

std::vector<std::string> Sum::describe(const Query& q) const {
  auto lines = describe_sum(q);
  if (votes > 0) lines.push_back(describe_votes(q));
  if (smallest_scale < 1)
    lines.insert(lines.begin(),
                 fmt::format("clips from {:.6g} on, sensitivity and noise in proportion; of the largest:",
                             q.bound.clip * smallest_scale));
  return lines;
}

void ExactSum::declare(Query& q) const {
  check_bins(q);
  q.exact = true;
  if (!one_hot) return declare_sum(q);
  verify(q.bound.clip == 1, "unit vectors have the bound 1");
  if (q.adjacency == Adjacency::replace_one) q.change = q.dim == 1 ? 1 : std::sqrt(2.0);
  // Integers on a lattice that holds them: no slack.
  q.lattice = fit_lattice(q, 1 + largest_eta, largest_batch(q.sampling, q.records), "method.clip");
  q.largest_term = 1;
  if (q.lattice.k < 0)
    throw PrivacyError(fmt::format("query {}: counts with noise of deviation {:.3g} do not fit the integer lattice",
                                   q.name, likely_noise(q)));
}

}  // namespace dpmpi
