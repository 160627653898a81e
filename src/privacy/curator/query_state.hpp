#pragma once
// What the curator keeps for one query. Private to the curator.

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "core/console/heartbeat.hpp"
#include "data/records/disk_read_ahead.hpp"
#include "data/records/part_index.hpp"
#include "privacy/curator/curator.hpp"
#include "privacy/curator/person_sum.hpp"
#include "privacy/curator/phase_view.hpp"
#include "privacy/curator/running_release.hpp"
#include "privacy/curator/votes.hpp"

namespace dpmpi {

/// Adds the time of a scope to a total.
class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total) {}
  ~Stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

inline constexpr std::size_t flag_words = 1;  // stop requests travel behind the sum

/// Allocated once.
struct Curator::QueryState {
  Query query;
  MicroBatching batching = {};
  LatticeAccumulator sum;
  std::vector<std::vector<std::uint32_t>> selected;  // for each own block
  std::vector<std::vector<std::uint32_t>> slots;     // likewise, if the rule numbers the records of a batch
  AlignedVector<float> released;                     // values, then the stop flag
  std::vector<double> exact;                         // the same of an exact query, without the flag
  std::uint64_t drawn = 0, summed = 0, next = 0;     // steps + 1 of the last draw and sum; next step to release
  std::vector<ShuffledBlock> shuffled;               // for each own block, if the rule is Shuffled or BallsInBins
  std::uint64_t shuffled_for = 0;                    // pass or epoch
  std::unique_ptr<PartIndex> places;                 // if the rule is Disjoint
  std::size_t part = no_part;                        // to which selected, slots, sum and batching belong
  std::size_t micro_batch_rows;
  std::unique_ptr<PersonSum> persons;  // where they are the units
  std::vector<double> lengths;         // of a micro-batch, where records vote
  static constexpr std::size_t no_part = ~std::size_t{0};

  std::optional<RunningRelease> running;  // of running sums, at ranks that draw their noise
  std::optional<PhaseWorkspace> phase;    // of phases
  std::vector<double> selected_run;       // of the best of runs: uniform numbers of the one that was released
  DiskReadAhead read_ahead;               // of mapped rows
  std::optional<std::uint64_t> run;       // likewise: which one its program makes

  QueryState(const Query& q, std::size_t rows, const BlockLayout& layout, std::size_t own_blocks)
      : query(q),
        sum(sum_of(q)),
        selected(own_blocks),
        slots(own_blocks),
        released(q.exact ? 0 : q.dim + flag_words),
        exact(q.exact ? q.dim : 0),
        micro_batch_rows(rows) {
    if (q.as<Phases>()) phase.emplace(q.dim);
    plan_batches(layout.largest(), expected_share(q.sampling, layout.records));
  }

  static LatticeAccumulator sum_of(const Query& q) {
    return {q.dim, q.lattice, q.largest_term, flag_words, q.exact ? Width::int64 : Width::int32};
  }

  void plan_batches(std::uint64_t largest_block, double share) {
    batching = MicroBatching::plan(micro_batch_rows, largest_block, share);
    batching.capacity = std::min(batching.capacity, sum.rows_at_once());
  }

  /// What the units of the batch contribute to the sum.
  void add_contributions(const Kernel& kernel, const L2Bound& bound, const Shard& shard) {
    std::optional<Votes> votes;
    if (query.votes() > 0) votes.emplace(bound, query.votes(), sum.lattice());
    if (query.unit == Unit::person) {
      const Query& own = part == no_part ? query : query.parts[part];
      if (!persons) persons = std::make_unique<PersonSum>(sum, own.largest_term, micro_batch_rows);
      return persons->add_to(sum, kernel, bound, {shard, selected, slots}, votes);
    }
    kernel.run(votes ? votes->bound() : bound, sum, [&](const auto& visit) {
      const auto show = [&](const Rows& rows) {
        visit(rows);
        read_ahead.read(rows.size());
        if (votes) add_votes(*votes, kernel, rows, sum, lengths);
      };
      read_ahead.begin(shard, selected);
      for (std::size_t i = 0; i < shard.blocks.size(); ++i, heartbeat().beat())
        batching.for_each(shard.blocks[i].records, selected[i], slots[i], show);
      read_ahead.end();
    });
    shard.check_unchanged();
  }

  /// Selects the part of release t, if the rule is Disjoint: once for each part.
  void take_part(const Shard& shard, std::uint64_t t) {
    const auto& rule = std::get<Disjoint>(query.sampling);
    const std::size_t p = rule.part_of(t);
    if (p == part) return;
    if (!places) places = std::make_unique<PartIndex>(rule, shard);
    const std::uint64_t size = rule.parts[p].size;
    sum = sum_of(query.parts[p]);
    persons.reset();
    plan_batches(shard.layout.largest(), static_cast<double>(size) / static_cast<double>(shard.layout.records));
    for (std::size_t i = 0; i < shard.blocks.size() && !phase; ++i)
      places->select(i, p, 0, size, selected[i], slots[i]);
    part = p;
  }

  /// Of BallsInBins the records of step t: once for each epoch they are sorted by their bins.
  void take_bin(const Shard& shard, std::vector<SecretStream>& keys, std::uint64_t t) {
    const auto& rule = std::get<BallsInBins>(query.sampling);
    const std::uint64_t epoch = t / rule.steps, bin = t % rule.steps;
    if (epoch != shuffled_for) shuffled.clear();
    shuffled_for = epoch;
    for (std::size_t i = 0; i < shard.blocks.size(); ++i) {
      if (i == shuffled.size()) {
        const std::uint64_t count = shard.blocks[i].records.units();
        shuffled.emplace_back(draw_bins(rule, count, keys[i], query.query_index, epoch), 0, count);
      }
      shuffled[i].select(bin, bin + 1, selected[i], slots[i]);
      slots[i].clear();  // a batch has no order
    }
  }

  /// The order of a pass, if the rule has one.
  void shuffle(const Shard& shard, std::uint64_t pass = 0) {
    const auto* rule = std::get_if<Shuffled>(&query.sampling);
    if (!rule || (!shuffled.empty() && (pass == shuffled_for || !rule->reshuffle))) return;
    const auto order = shuffle_slots(*rule, shard.layout, pass);
    shuffled.clear();
    for (std::size_t i = 0; i < shard.blocks.size(); ++i) {
      const std::uint64_t count = shard.blocks[i].records.units();
      shuffled.emplace_back(order, shard.blocks[i].first_index, count);
      const std::uint64_t most = std::min(count, std::max(rule->first, rule->batch));
      selected[i].reserve(most), slots[i].reserve(most);
    }
    shuffled_for = pass;
  }
};

}  // namespace dpmpi
