#include "privacy/curator/curator.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "core/console/heartbeat.hpp"
#include "core/errors.hpp"
#include "core/fault.hpp"
#include "core/secrecy.hpp"
#include "privacy/curator/commitment.hpp"
#include "privacy/curator/planned_lines.hpp"
#include "privacy/curator/query_state.hpp"

namespace dpmpi {
namespace {

// The events speak of the block with the largest share of a batch: of the blocks that there are.
void check_shares(const Query& query, const BlockLayout& layout) {
  const auto* rule = std::get_if<WithoutReplacement>(&query.sampling);
  if (!rule) return;
  const auto rate = [](std::uint64_t most, std::uint64_t among) {
    return static_cast<double>(most) / static_cast<double>(among);
  };
  const auto actual = std::get<WithoutReplacement>(stratified(*rule, layout));
  const double stated = rule->among > 0 ? rate(rule->most, rule->among) : rate(rule->batch, query.records);
  verify(stated >= rate(actual.most, actual.among), "a batch's share of a block is the one that events state");
}

}  // namespace

Curator::Curator(const Communicator& comm, const Shard& shard, std::vector<Query> queries,
                 std::size_t micro_batch_rows, const std::optional<SecretKey>& key, bool mask_sums)
    : comm_(comm),
      shard_(shard),
      curates_(comm.is_root()),
      ranks_trusted_(!mask_sums),
      noise_by_slices_(ranks_trusted_ && comm.size() > 1 && std::ranges::any_of(queries, drawn_by_slices)) {
  verify(!curates_ || key.has_value(), "the root needs the secret key");
  declare(queries, micro_batch_rows);
  if (curates_) {
    noise_ = std::make_unique<SecretStream>(key->derive("noise"));
    shared_phase_noise_ = std::make_unique<SecretStream>(key->derive("phase noise"));
  }
  take_block_keys(own_block_keys(comm, shard, key));
  if (mask_sums && comm.size() > 2) mask_.emplace(comm, key);
  share_keys(key);
}

Curator::Curator(const Communicator& comm, const Shard& shard, std::vector<Query> queries,
                 std::size_t micro_batch_rows, const KeyOfBlock& key_of, JobSums& sums)
    : comm_(comm), shard_(shard), curates_(false), hands_over_(true), jobs_(&sums), ranks_trusted_(true) {
  for (const Query& query : queries)
    verify((query.as<Sum>() || query.as<RunningSum>()) && query.worker_noise == 0, "several jobs make sums");
  declare(queries, micro_batch_rows);
  take_block_keys(own_block_keys(comm, shard, key_of));
}

void Curator::declare(const std::vector<Query>& queries, std::size_t micro_batch_rows) {
  for (const auto& query : queries) {
    verify(query.query_index == states_.size(), "queries are numbered in their order");
    check_shares(query, shard_.layout);
    steps_ = std::max(steps_, steps_of(query));
    states_.push_back(std::make_unique<QueryState>(query, micro_batch_rows, shard_.layout, shard_.blocks.size()));
    states_.back()->shuffle(shard_);
    const Query& kept = states_.back()->query;
    if (kept.as<RunningSum>() && (curates_ || (noise_by_slices_ && drawn_by_slices(kept))))
      states_.back()->running.emplace(kept, noise_slice(kept), curates_);
  }
}

void Curator::take_block_keys(const std::vector<SecretKey>& keys) {
  const bool phases_draw = std::ranges::any_of(states_, [](const auto& s) {
    const auto* phases = s->query.template as<Phases>();
    return phases && phases->own_noise;
  });
  for (const SecretKey& key : keys) {
    selection_.emplace_back(key.derive("bits"));
    if (phases_draw) phase_noise_.emplace_back(key.derive("phase noise"));
  }
}

Curator::~Curator() = default;

void Curator::share_keys(const std::optional<SecretKey>& key) {
  if (comm_.is_root()) {
    const SecretKey directions = key->derive("public randomness");
    std::memcpy(&public_key_, directions.bytes().data(), sizeof public_key_);
  }
  comm_.broadcast(public_key_);
  const auto any = [&](auto declares) {
    return std::ranges::any_of(states_, [&](const auto& s) { return declares(s->query); });
  };
  if (noise_by_slices_) noise_ = shared_stream(key, "noise");
  if (any([](const Query& q) { return q.worker_noise > 0; })) shared_ = shared_stream(key, "shared noise");
  if (!any([](const Query& q) { return q.as<BestOfRuns>() != nullptr; })) return;
  if (comm_.is_root()) {
    count_ = std::make_unique<SecretStream>(key->derive("repetitions"));
    training_key_ = key->derive("trainings");
  }
  // Untrusted ranks are refused before anything is drawn from it; they do not get it either.
  const bool needs_trust = any([](const Query& q) { return q.needs_trusted_ranks(); });
  if (ranks_trusted_ || comm_.size() == 1 || !needs_trust) runs_ = shared_stream(key, "repeated runs");
}

std::unique_ptr<SecretStream> Curator::shared_stream(const std::optional<SecretKey>& key,
                                                     std::string_view purpose) {
  std::array<std::uint8_t, 32> bytes{};
  if (comm_.is_root()) std::ranges::copy(key->derive(purpose).bytes(), bytes.begin());
  comm_.broadcast(std::span<std::uint8_t>(bytes));
  auto stream = std::make_unique<SecretStream>(SecretKey::from_bytes(bytes));
  wipe(bytes);
  return stream;
}

void Curator::worker_noise(std::uint64_t t, std::uint64_t first, std::span<double> out) {
  verify(shared_ != nullptr, "noise that no query declared");
  shared_->normals(t, 0, first, out);
}

void Curator::broadcast_from_root(std::vector<double>& values,
                                  const std::function<void(std::vector<double>&)>& compute) {
  compute_at_root([&] { compute(values); });
  broadcast_from_root(values);
}

void Curator::compute_at_root(const std::function<void()>& compute) {
  if (comm_.is_root()) compute();
}

void Curator::broadcast_from_root(std::vector<double>& values) {
  const Stopwatch watch(timing_.broadcast);
  std::uint64_t size = values.size();
  comm_.broadcast(size);
  values.resize(size);
  comm_.broadcast(std::span<double>(values));
}

Curator::QueryState& Curator::state(std::uint32_t query_index) {
  verify(query_index < states_.size(), "a query that was not declared");
  return *states_[query_index];
}

// Only what is in the plan, and paid for.
void Curator::begin_step(const QueryState& s, std::uint64_t t) {
  if (t >= s.query.steps)
    throw PrivacyError(
        fmt::format("query {}: step {} is not in the plan of {} steps", s.query.name, t, s.query.steps));
  if (const std::uint64_t step = s.query.schedule.step_of(t); step >= reserved_) reserve(step);
}

// A second sum would carry the same noise: what leaves the ranks of the two would differ by un-noised values.
void Curator::refuse_second_sum(const QueryState& s, std::uint64_t t) const {
  if (t < s.summed || t < s.next)
    throw PrivacyError(
        fmt::format("query {}: step {} or a later one was summed before; noise is added once", s.query.name, t));
}

Batch Curator::draw(const Query& query, std::uint64_t t) {
  QueryState& s = state(query.query_index);
  verify(!s.query.as<Phases>(), "the records of a phase are seen by its program");
  begin_step(s, t);
  const Stopwatch watch(timing_.sampling);
  if (const auto* rule = std::get_if<Shuffled>(&s.query.sampling)) {
    s.shuffle(shard_, t / rule->steps_per_pass());
    for (std::size_t i = 0; i < s.shuffled.size(); ++i)
      s.shuffled[i].select(rule->begin(t), rule->end(t), s.selected[i], s.slots[i]);
  }
  if (std::holds_alternative<BallsInBins>(s.query.sampling)) s.take_bin(shard_, selection_, t);
  const bool disjoint = !s.query.parts.empty();
  if (disjoint) s.take_part(shard_, t);
  for (std::size_t i = 0; i < shard_.blocks.size() && s.shuffled.empty() && !disjoint; ++i) {
    const Block& block = shard_.blocks[i];
    const auto* wor = std::get_if<WithoutReplacement>(&s.query.sampling);
    const std::uint64_t quota = wor ? block_quota(shard_.layout, wor->batch, block.id, t) : 0;
    select(s.query.sampling, block.first_index, block.records.units(), selection_[i], s.query.query_index, t, quota,
           s.selected[i]);
  }
  s.drawn = t + 1;
  return {query.query_index, t};
}

Secret<LatticeSum> Curator::sum(const Query& query, const Batch& batch, const Kernel& kernel, double scale) {
  QueryState& s = state(query.query_index);
  verify(batch.query_index_ == query.query_index && s.drawn == batch.step_ + 1,
         "a batch serves the query and step that it was drawn for");
  verify(!s.query.as<BestOfRuns>(), "the sum of one run is not released");
  refuse_second_sum(s, batch.step_);
  if (!(scale > 0 && scale <= 1))
    throw PrivacyError(fmt::format("query {}: the clip is scaled by {}, allowed: (0, 1]", query.name, scale));
  if (s.query.smallest_scale() < 1 && scale < s.query.smallest_scale())
    throw PrivacyError(fmt::format("query {}: the clip is scaled by {}, below the {} of the plan", query.name,
                                   scale, s.query.smallest_scale()));
  const auto* exact = s.query.as<ExactSum>();
  verify(kernel.one_hot || !exact || !exact->one_hot, "a query of unit vectors takes kernels that count");
  verify(s.query.votes() == 0 || (kernel.lengths && kernel.readings == 1), "votes take kernels that tell lengths");
  const L2Bound bound{s.query.clip_at(batch.step_) * scale, s.query.bound.clipping};
  s.sum.clear(s.query.at(batch.step_).lattice_at(scale));
  {
    const Stopwatch watch(timing_.kernels);
    const InStage stage(Stage::kernels);
    s.add_contributions(kernel, bound, shard_);
  }
  if (listener_) listener_->summed(s.query, batch.step_, bound, scale, kernel);
  // The noise joins the parts of those who draw it before these are summed: it does not depend on the data, integer
  // addition has no order, and so no un-noised total ever exists.
  if (noise_) add_noise(s, batch.step_, scale, noise_slice(s.query));
  fault_point("reduce");
  const Stopwatch watch(timing_.reduce);
  s.sum.extra().front() = stop_requested_ ? 1 : 0;
  if (mask_) mask_->apply(s.sum.message(), batch.step_, query.query_index);
  comm_.sum_to_root(s.sum);
  if (jobs_ && comm_.is_root()) jobs_->join(query.query_index, batch.step_, s.sum.message());
  s.summed = batch.step_ + 1;
  return Secret<LatticeSum>(LatticeSum{query.query_index, batch.step_});
}

// What both kinds of release have in common, before the root looks at the sum.
Curator::QueryState& Curator::begin_release(const LatticeSum& total) {
  QueryState& s = state(total.query_index);
  verify(s.summed == total.step + 1 && total.step >= s.next, "a sum is released once, before the query's next sum");
  s.next = total.step + 1;
  verify(s.query.schedule.step_of(total.step) < reserved_, "a release without its ledger line");
  return s;
}

std::span<const float> Curator::release(Secret<LatticeSum> total) {
  if (hands_over_) throw HandedOver();
  QueryState& s = begin_release(total.value_);
  verify(!s.query.exact, "an exact query has a release of its own");
  if (comm_.is_root()) {
    const Stopwatch watch(timing_.noise);
    const auto message = s.sum.message();
    const double quantum = s.sum.lattice().quantum();
    float* out = s.released.data();
    // One scaling, no float between the sum and the release.
    for (std::size_t j = 0; j < s.query.dim; ++j)
      out[j] = static_cast<float>(static_cast<double>(message[j]) * quantum);
    if (s.running) s.running->keep(message.first(s.query.dim));
    s.released.back() = message.back() > 0 ? 1.0f : 0.0f;
  }
  fault_point("release");
  const Stopwatch watch(timing_.broadcast);
  comm_.broadcast(std::span<float>(s.released));
  stop_agreed_ = s.released.back() > 0;
  const auto values = std::span<const float>(s.released).first(s.query.dim);
  if (listener_) {
    shown_.assign(values.begin(), values.end());
    listener_->released(s.query, total.value_.step, shown_);
  }
  return values;
}

std::span<const double> Curator::release_exact(Secret<LatticeSum> total) {
  QueryState& s = begin_release(total.value_);
  verify(s.query.exact, "only an exact query is released to the last bit");
  const std::span<std::int64_t> message = s.sum.message();
  fault_point("release");
  const Stopwatch watch(timing_.broadcast);
  if (comm_.is_root()) message.back() = message.back() > 0 ? 1 : 0;
  comm_.broadcast(message);
  stop_agreed_ = message.back() > 0;
  const double quantum = s.sum.lattice().quantum();
  for (std::size_t j = 0; j < s.query.dim; ++j) s.exact[j] = static_cast<double>(message[j]) * quantum;
  if (listener_) listener_->released(s.query, total.value_.step, s.exact);
  return s.exact;
}

void Curator::archive(Archive& archive) {
  for (auto& s : states_)
    if (s->running) s->running->archive(archive);
}

}  // namespace dpmpi
