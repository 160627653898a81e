#include "run/audit/attacker.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <variant>

#include "core/errors.hpp"
#include "data/records/sampling.hpp"
#include "privacy/curator/running_release.hpp"
#include "privacy/curator/votes.hpp"
#include "privacy/curves/normalized_buffers.hpp"

namespace dpmpi {
namespace {

using Vector = std::vector<double>;

double product(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t j = 0; j < std::min(a.size(), b.size()); ++j) sum += a[j] * b[j];
  return sum;
}

Vector difference(const Vector& a, const Vector& b) {
  if (a.empty() || b.empty()) {
    Vector d = a.empty() ? b : a;
    if (a.empty())
      for (double& v : d) v = -v;
    return d;
  }
  Vector d = a;
  for (std::size_t j = 0; j < d.size(); ++j) d[j] -= b[j];
  return d;
}

bool is_matrix(Strategy strategy) {
  return strategy == Strategy::sqrt_toeplitz || is_banded(strategy) || has_buffers(strategy);
}

/// Entry (t, leaf), both from 1, of the strategy matrix, before its columns are normalized; of trees the nodes that
/// prefixes are read off.
double strategy_entry(const RunningSum& rule, std::uint64_t t, std::uint64_t leaf) {
  if (leaf > t) return 0;
  if (!is_matrix(rule.strategy)) return leaf > (t & (t - 1)) ? 1 : 0;
  const std::uint64_t k = t - leaf;
  if (is_banded(rule.strategy) && k >= rule.band) return 0;
  if (has_buffers(rule.strategy)) {
    double sum = k == 0 ? 1 : 0;
    for (std::size_t i = 0; i < rule.buffers.count && k > 0; ++i)
      sum += rule.buffers.weight[i] * std::pow(rule.buffers.decay[i], static_cast<double>(k - 1));
    return sum;
  }
  double c = 1;
  for (std::uint64_t i = 1; i <= k; ++i) c *= static_cast<double>(2 * i - 1) / static_cast<double>(2 * i);
  return c;
}

/// The noise of the newest row over that of a leaf of scale 1: a node's is that of its largest leaf, a matrix's row
/// has that of the largest so far.
double row_scale(const RunningSum& rule, std::span<const double> scales) {
  const std::uint64_t t = scales.size();
  const bool tree = !is_matrix(rule.strategy);
  double largest = 0;
  for (std::uint64_t s = 1; s <= t; ++s)
    if (!tree || strategy_entry(rule, t, s) != 0) largest = std::max(largest, scales[s - 1]);
  return largest;
}

// Of many releases some stand for the others up to the next of them.
bool looked_at(std::uint64_t t) { return t == 0 || std::has_single_bit(t); }

}  // namespace

Attacker::Attacker(Objective& objective, const Records& records, std::vector<std::uint64_t> places,
                   BlockLayout layout, std::uint32_t slots)
    : objective_(objective),
      records_(records),
      places_(std::move(places)),
      layout_(std::move(layout)),
      suspect_slots_(slots) {
  verify(records_.count == places_.size(), "a place for every suspect");
}

void Attacker::begin(std::span<const float> start) {
  transcript_ = {};
  evidence_.assign(suspects(), 0);
  distances_.assign(suspects() * (suspects() + 1), 0);
  parts_.assign(suspects(), {});
  pending_.assign(suspects(), {});
  gradients_.assign(suspects(), {});
  running_.clear();
  last_direction_.clear(), effect_.clear(), weighed_.clear();
  noted_ = 0, saw_coordinates_ = seen_ = unseen_ = false;
  if (!objective_.gradients() || start.size() != objective_.dim()) return;
  constexpr L2Bound unit{1};
  LatticeAccumulator& sum = empty_sum(start.size(), Lattice{20}, 1.01, Width::int32);
  const Kernel kernel = clipped_gradients(objective_, start);
  for (std::size_t i = 0; i < suspects(); ++i) contribute(unit, 0, sum, kernel, i, {1, 0}, gradients_[i]);
}

// Public rules say whether a position takes part; of secret ones everybody knows the chance.
Attacker::Part Attacker::part(const Query& query, std::uint64_t t, std::uint64_t place) {
  if (const auto* rule = std::get_if<Cyclic>(&query.sampling))
    return {place % rule->parts == t % rule->parts ? 1.0 : 0.0, {}};
  if (const auto* rule = std::get_if<CyclicPoisson>(&query.sampling))
    return {place % rule->groups == t % rule->groups ? rule->rate : 0.0, {}};
  if (const auto* rule = std::get_if<Shuffled>(&query.sampling)) {
    const std::uint32_t slot = slots(query, rule->reshuffle ? t / rule->steps_per_pass() : 0)[place];
    if (slot < rule->begin(t) || slot >= rule->end(t)) return {};
    return {1, static_cast<std::uint32_t>(slot - rule->begin(t))};
  }
  if (const auto* rule = std::get_if<Disjoint>(&query.sampling)) {
    const std::size_t p = rule->part_of(t);
    const std::uint64_t slot = slots(query, 0)[place], begin = rule->begin(p);
    if (slot < begin || slot >= rule->begin(p + 1)) return {};
    return {1, static_cast<std::uint32_t>(slot - begin)};
  }
  return {expected_share(query.sampling, query.records), {}};
}

std::span<const std::uint32_t> Attacker::slots(const Query& query, std::uint64_t pass) {
  const std::pair key{query.query_index, pass};
  if (slots_of_ != key) {
    const auto* rule = std::get_if<Shuffled>(&query.sampling);
    slots_ = rule ? shuffle_slots(*rule, layout_, pass)
                  : shuffle_slots(std::get<Disjoint>(query.sampling).seed, layout_);
    slots_of_ = key;
  }
  return slots_;
}

// A run asks for the same one at every step.
LatticeAccumulator& Attacker::empty_sum(std::size_t dim, Lattice lattice, double bound, Width width) {
  if (!sum_ || sum_->dim() != dim || sum_->lattice().k != lattice.k || sum_->width() != width ||
      sum_bound_ != bound)
    sum_.emplace(dim, lattice, bound, 0, width), sum_bound_ = bound;
  return *sum_;
}

void Attacker::contribute(const L2Bound& bound, double share, LatticeAccumulator& sum, const Kernel& kernel,
                          std::size_t i, const Part& part, Vector& values) {
  sum.clear();
  const Votes votes(bound, share, sum.lattice());
  const auto row = static_cast<std::uint32_t>(i);
  const std::uint32_t slot = part.slot.value_or(0);
  kernel.run(votes.bound(), sum, [&](const auto& visit) {
    const Rows rows{records_, std::span(&row, 1),
                    part.slot ? std::span(&slot, 1) : std::span<const std::uint32_t>()};
    visit(rows);
    if (share > 0) add_votes(votes, kernel, rows, sum, lengths_);
  });
  const double quantum = sum.lattice().quantum();
  values.resize(sum.dim());
  std::ranges::transform(sum.totals(), values.begin(),
                         [=](std::int64_t total) { return static_cast<double>(total) * quantum; });
}

// Records that a public rule takes are added up. Of those that are drawn in secret nobody knows how many there are:
// the contribution is that of one.
void Attacker::take_part(const Query& query, std::uint64_t t, const L2Bound& bound, LatticeAccumulator& sum,
                         const Kernel& kernel, std::size_t i) {
  Part& all = parts_[i] = part(query, t, places_[i]);
  Vector& pending = pending_[i];
  pending.clear();
  if (all.probability > 0 || measures_) contribute(bound, query.votes(), sum, kernel, i, all, pending);
  if (all.probability > 0 && all.probability < 1) return void(all.records = suspect_slots_);
  for (std::uint32_t k = 1; k < suspect_slots_; ++k) {
    const Part one = part(query, t, places_[i] + k);
    if (one.probability == 0) continue;
    contribute(bound, query.votes(), sum, kernel, i, one, other_);
    const bool is_first = std::exchange(all.probability, 1) == 0;
    pending.resize(other_.size());
    for (std::size_t j = 0; j < other_.size(); ++j) pending[j] = other_[j] + (is_first ? 0 : pending[j]);
  }
}

void Attacker::summed(const Query& query, std::uint64_t t, const L2Bound& bound, double scale,
                      const Kernel& kernel) {
  pending_scale_ = scale;
  if (query.as<LastIterateRun>() || kernel.remembers || (measures_ && !looked_at(t))) return;
  const Query& at = query.at(t);
  LatticeAccumulator& sum =
      empty_sum(query.dim, at.lattice_at(scale), bound.clip * 1.01, query.exact ? Width::int64 : Width::int32);
  seen_ = true;
  for (std::size_t i = 0; i < suspects(); ++i) take_part(query, t, bound, sum, kernel, i);
}

void Attacker::released(const Query& query, std::uint64_t t, std::span<const double> values) {
  if (query.as<LastIterateRun>()) return;
  ++transcript_.releases;
  const Query& at = query.at(t);
  const bool running = query.as<RunningSum>() != nullptr;
  const double scale = running ? leaf_noise_scale(query, t, pending_scale_) : at.sensitivity_scale(pending_scale_);
  const double noise_std = at.noise_std * at.noise_scale(t) * scale;
  unseen_ = !seen_;
  seen_ = false;
  if (measures_ && looked_at(t)) add_distances(noise_std, static_cast<double>(std::max<std::uint64_t>(1, t)));
  if (running)
    weigh_running(query, t, values, scale);
  else
    weigh(values, noise_std);
  for (auto& vector : pending_) vector.clear();
  std::fill(parts_.begin(), parts_.end(), Part{});
  pending_scale_ = 1;
}

namespace {

/// log(1 - p + p e^x): the likelihood ratio of a suspect that took part with probability p.
double log_mixture(double p, double x) {
  constexpr double largest = 30;  // from here on it is x + log p
  return x > largest ? x + std::log(p) : std::log1p(p * std::expm1(x));
}

/// log(e^a + e^b).
double log_sum(double a, double b) { return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))); }

}  // namespace

// A mixture over the binomial number of records that took part.
double Attacker::Draw::log_ratio() const {
  if (records == 1) return log_mixture(probability, along - square / 2);
  double weight = records * std::log1p(-probability), sum = weight;
  for (std::uint32_t m = 1; m <= records; ++m) {
    weight += std::log(probability * (records - m + 1) / ((1 - probability) * m));
    sum = log_sum(sum, weight + m * along - 0.5 * m * m * square);
  }
  return sum;
}

void Attacker::add_evidence(std::size_t suspect, double along, double square, double variance, Draw& draw) {
  if (!(variance > 0) || draw.probability == 0) return;
  const double length = std::sqrt(square);
  double seen = length > 0 ? along / length : 0;
  const std::size_t k = weighed_.size();
  weighed_.push_back(seen);
  if (k < background_.size()) {
    seen -= background_[k];
    variance = std::max(variance, background_deviation_[k] * background_deviation_[k]);
  }
  const double before = draw.log_ratio();
  draw.along += length * seen / variance;
  draw.square += square / variance;
  evidence_[suspect] += draw.log_ratio() - before;
}

void Attacker::weigh(std::span<const double> values, double noise_std) {
  const bool first_unseen = unseen_ && effect_.empty();
  if (first_unseen) effect_.assign(values.begin(), values.end());
  for (std::size_t i = 0; i < suspects(); ++i)
    if (!pending_[i].empty()) {
      Draw draw{parts_[i].probability, parts_[i].records};
      add_evidence(i, product(values, pending_[i]), product(pending_[i], pending_[i]), noise_std * noise_std, draw);
    } else if (unseen_ && expected_.empty() && gradients_[i].size() == values.size() && noise_std > 0) {
      evidence_[i] -= product(values, gradients_[i]) / noise_std;  // a phase: a step down its gradient
    }
  if (first_unseen && expected_.size() == values.size() && noise_std > 0)
    evidence_.back() += product(values, expected_) / (noise_std * noise_std);
  note(values, noise_std);
}

// The strategy's queries, in which noise is independent, from the increments of the prefixes.
void Attacker::weigh_running(const Query& query, std::uint64_t t, std::span<const double> values, double scale) {
  const RunningSum& rule = *query.as<RunningSum>();
  running_.resize(std::max<std::size_t>(running_.size(), query.query_index + 1));
  Running& run = running_[query.query_index];
  const std::uint64_t leaf = t % RunningSum::leaves(query) + 1;
  if (leaf == 1) {
    run = {};
    run.before.assign(values.size(), 0);
    run.taken.resize(suspects());
    run.newest.resize(suspects());
    if (rule.strategy == Strategy::normalized_blt)
      run.norms = column_norms(rule.buffers, RunningSum::leaves(query));
  }
  run.increments.emplace_back(values.begin(), values.end());
  for (std::size_t j = 0; j < values.size(); ++j) run.increments.back()[j] -= run.before[j];
  run.before.assign(values.begin(), values.end());
  run.scale.push_back(scale);
  const double noise_std = query.noise_std * row_scale(rule, run.scale);
  const auto entry = [&](std::uint64_t s) {
    return strategy_entry(rule, leaf, s) / (run.norms.empty() ? 1 : run.norms[s - 1]);
  };

  for (std::size_t i = 0; i < suspects(); ++i) {
    if (!pending_[i].empty() && parts_[i].probability > 0) {
      run.taken[i].push_back({leaf, pending_[i]});
      run.newest[i] = {parts_[i].probability, parts_[i].records};
    }
    Vector shift(values.size(), 0);  // of this query, if the suspect is there
    for (const auto& [at, contribution] : run.taken[i])
      if (const double a = entry(at); a != 0)
        for (std::size_t j = 0; j < shift.size(); ++j) shift[j] += a * contribution[j];
    const double square = product(shift, shift);
    if (square == 0) continue;
    double along = 0;
    for (std::uint64_t s = 1; s <= leaf; ++s)
      if (const double a = entry(s); a != 0) along += a * product(run.increments[s - 1], shift);
    add_evidence(i, along, square, noise_std * noise_std, run.newest[i]);
  }
  note(run.increments.back(), noise_std);
}

// What a learned test gets to see.
void Attacker::note(std::span<const double> values, double noise_std) {
  const double unit = noise_std > 0 ? noise_std : 1;
  Vector along;
  if (unseen_ && expected_.size() == values.size()) along = expected_;
  for (const auto* choice : {&pending_, &gradients_}) {
    if (!along.empty()) break;
    const Vector none;
    const Vector& last = choice->back();
    const Vector& first = suspects() > 1 ? choice->front() : none;
    along = difference(last, first);
    if (along.size() != values.size()) along.clear();
  }
  if (!along.empty()) last_direction_ = along;  // releases without the suspects tell of the noise in the others
  if (along.empty() && last_direction_.size() == values.size()) along = last_direction_;
  const double norm = std::sqrt(product(along, along));
  if (noted_ < Transcript::kept)
    transcript_.steps[noted_++] = (norm > 0 ? product(values, along) / norm : values.front()) / unit;
  if (saw_coordinates_ || (norm == 0 && !unseen_)) return;
  saw_coordinates_ = true;
  for (std::size_t j = 0; j < std::min(values.size(), Transcript::kept); ++j)
    transcript_.coordinates[j] = values[j] / unit;
}

void Attacker::add_distances(double noise_std, double weight) {
  if (!(noise_std > 0)) return;
  for (std::size_t i = 0; i < suspects(); ++i)
    for (std::size_t j = 0; j <= suspects(); ++j) {
      const Vector apart = difference(pending_[i], j < suspects() ? pending_[j] : Vector());
      const double chance = std::max(parts_[i].probability, 1e-3);
      distances_[i * (suspects() + 1) + j] +=
          weight * chance * chance * product(apart, apart) / (noise_std * noise_std);
    }
}

void Attacker::end(std::span<const float> model) {
  const Vector values(model.begin(), model.end());
  const bool nothing_before = transcript_.releases == 0;
  if (nothing_before) effect_ = values;
  std::vector<double> seen(suspects(), 0);
  if (nothing_before && expected_.size() == values.size())
    seen.back() = product(values, expected_);
  else
    for (std::size_t i = 0; i < suspects(); ++i) seen[i] = -product(values, gradients_[i]);
  if (nothing_before) evidence_ = seen;
  const auto of_last = [&](const Vector& v) { return v.back() - (suspects() > 1 ? v.front() : 0); };
  transcript_.model = of_last(seen);
  transcript_.likelihood = of_last(evidence_);
}

}  // namespace dpmpi
