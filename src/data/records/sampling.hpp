#pragma once
// Which records take part in a step. Every rule is a function of (key of the block, step, global index), so that
// the batch is the same on any number of ranks; a rank knows the selection in its own blocks only.

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/numbers/random.hpp"
#include "data/records/blocks.hpp"

namespace dpmpi {

/// Every record independently with probability `rate` (secret bits: amplification rests on their secrecy).
struct Poisson {
  double rate = 0;
};
/// `batch` of the n records: of every block its share, a public number (block_quota()), and which records of the
/// block these are is uniform and secret. So a rank that sees how many of its own records take part learns nothing
/// about the others.
struct WithoutReplacement {
  std::uint64_t batch = 0;
  /// Where blocks' shares are the largest: at most `most` of the `among` records of a block (stratified()). All
  /// records are one block as long as `among` is 0.
  std::uint64_t most = 0, among = 0;
};
/// All records.
struct FullBatch {};
/// Public: record i takes part in step t if i = t (mod parts): once in every `parts` steps.
struct Cyclic {
  std::uint64_t parts = 1;
};
/// Record i is in group i mod groups, which is public and depends on its position alone. Step t draws from group
/// t mod groups, every record of it independently with probability `rate` (secret bits, as of Poisson).
struct CyclicPoisson {
  std::uint64_t groups = 1;  ///< >= 1
  double rate = 0;           ///< in (0, 1]
};
/// Balls in bins: every record takes part in one of the `steps` steps of an epoch. Which one is uniform, drawn anew
/// for every epoch and independently of all other records (secret bits, as of Poisson). Step t is in epoch
/// t / steps.
struct BallsInBins {
  std::uint64_t steps = 1;  ///< 1..2^32
};
/// Public: a shuffle of the positions (shuffle_slots), cut into runs of `leaves` consecutive batches, the first of
/// a run of size `first` and the others of size `batch`. `runs` runs are a pass, which uses a record once at most;
/// further passes repeat it, or draw a shuffle of their own. Positions behind the last run are not used.
struct Shuffled {
  std::uint64_t seed = 1;
  std::uint64_t first = 0, batch = 0;  ///< >= 1
  std::uint64_t leaves = 1, runs = 1;
  bool reshuffle = false;  ///< every pass its own order
  std::uint64_t steps_per_pass() const { return leaves * runs; }
  std::uint64_t records_per_run() const { return first + batch * (leaves - 1); }
  /// Slots [begin, end) of step t.
  std::uint64_t begin(std::uint64_t t) const;
  std::uint64_t end(std::uint64_t t) const { return begin(t) + (t % leaves == 0 ? first : batch); }
};
/// Public: the positions in the order of a shuffle (shuffle_slots), cut into consecutive parts. Releases 0, 1, ...
/// use part 0 until its uses are spent, then part 1, and so on: no record is in two parts, and which part it is in
/// depends on its position alone. Positions behind the last part are not used.
struct Disjoint {
  struct Part {
    std::uint64_t size = 0;  ///< records, >= 1
    std::uint64_t uses = 1;  ///< releases, >= 1
    double clip = 1;         ///< of each record in these releases
  };
  /// How the places 0 .. size-1 of a part are numbered.
  enum class Places {
    by_slot,   ///< in the order of the shuffle: every run of places falls evenly on the blocks
    by_block,  ///< block after block, and by slot within a block: for walks that hand a state on from rank to rank
  };
  std::vector<Part> parts;
  std::uint64_t seed = 1;
  Places places = Places::by_slot;
  std::uint64_t uses() const;                        ///< of all parts: the releases of a run
  std::size_t part_of(std::uint64_t t) const;        ///< the part that release t uses
  std::uint64_t first_release(std::size_t p) const;  ///< of part p
  std::uint64_t begin(std::size_t p) const;          ///< its first slot; begin(parts.size()): slots used in all
};
using SamplingRule =
    std::variant<Poisson, WithoutReplacement, FullBatch, Cyclic, CyclicPoisson, BallsInBins, Shuffled, Disjoint>;

std::string describe(const SamplingRule& rule);
/// Expected batch size (a public constant, the normaliser of means); of Disjoint the mean over the releases.
double expected_batch(const SamplingRule& rule, std::uint64_t records);
/// Largest possible batch: what sizes the integer lattice (n for Poisson, never the expectation).
std::uint64_t largest_batch(const SamplingRule& rule, std::uint64_t records);
/// Expected share of a block's records in a step.
double expected_share(const SamplingRule& rule, std::uint64_t records);

/// Of a WithoutReplacement batch, how many records of `block` take part in step t: the block's share of the batch,
/// rounded up or down. Public: a function of its arguments. Shares follow the blocks' sizes, but are equal where
/// sizes differ by one record; all add up to the batch, and which of them are rounded up changes from step to step,
/// so that means over steps are the shares.
std::uint64_t block_quota(const BlockLayout& layout, std::uint64_t batch, std::uint32_t block, std::uint64_t step);
/// The rule with the largest share that it has in any block of a layout, at any step. Other rules stay as they are.
SamplingRule stratified(const SamplingRule& rule, const BlockLayout& layout);

/// The selected positions of one block at step t, ascending, into `out` (its capacity is kept).
/// `stream` is keyed for this block, `site` tells apart the queries that draw from it; `quota` is this block's
/// share of a WithoutReplacement batch (else unused).
void select(const SamplingRule& rule, std::uint64_t first_index, std::uint64_t count, SecretStream& stream,
            std::uint32_t site, std::uint64_t step, std::uint64_t quota, std::vector<std::uint32_t>& out);

/// The step of its epoch in which each of a block's `count` records takes part. `stream` and `site` as for
/// select().
std::vector<std::uint32_t> draw_bins(const BallsInBins& rule, std::uint64_t count, SecretStream& stream,
                                     std::uint32_t site, std::uint64_t epoch);

/// The records of one block in the order of a shuffle, or of their bins.
class ShuffledBlock {
 public:
  /// `slots`: the slot of every record of the dataset (shuffle_slots).
  ShuffledBlock(std::span<const std::uint32_t> slots, std::uint64_t first_index, std::uint64_t count);
  /// The positions, ascending, whose slots are in [begin, end), and their slots less `begin`.
  void select(std::uint64_t begin, std::uint64_t end, std::vector<std::uint32_t>& rows,
              std::vector<std::uint32_t>& slots);

 private:
  struct Place {
    std::uint32_t slot, row;
  };
  std::vector<Place> order_;  // by slot
  std::vector<Place> chosen_;
};
/// The slot of every record: a public permutation of 0..records-1, a function of the seed, the layout and,
/// of a rule with reshuffle, the pass. At most 2^32 - 1 records.
///
/// It is stratified, so that every batch falls evenly on the blocks, and thereby on the ranks whatever runs of
/// blocks they own. A block's records come in random order, spread evenly over rounds; a round takes one record of
/// every block (smaller blocks are left out of some), in van der Corput's order of bit reversal, shifted at random;
/// and the slots are counted from a random one. So every record's slot is uniform; and of any consecutive slots,
/// where the blocks are of one size and 2^k, half belong to the first half of the blocks, up to 1 (else up to a
/// few).
std::vector<std::uint32_t> shuffle_slots(const Shuffled& rule, const BlockLayout& layout, std::uint64_t pass = 0);
std::vector<std::uint32_t> shuffle_slots(std::uint64_t seed, const BlockLayout& layout);

/// How a block's selected rows become micro-batches: from fixed index ranges (never by compacting the block),
/// halved where more than `capacity` rows are selected. A record's presence changes the rows of one range only: one
/// micro-batch of at most `capacity` rows becomes another, or two that hold at most capacity + 1 rows together
/// (numerics contract N4).
struct MicroBatching {
  std::size_t capacity = 128;
  std::uint32_t ranges = 1;  ///< equal index ranges per block
  /// As few ranges as leave a full micro-batch four standard deviations above the expectation.
  static MicroBatching plan(std::size_t capacity, std::uint64_t largest_block, double share);
  template <class Visit>
  void for_each(const Records& records, std::span<const std::uint32_t> selected, Visit&& visit) const {
    for_each(records, selected, {}, visit);
  }
  /// `slots` is empty or has one entry for each selected row.
  template <class Visit>
  void for_each(const Records& records, std::span<const std::uint32_t> selected,
                std::span<const std::uint32_t> slots, Visit&& visit) const {
    for_each(records.count, selected, [&](std::span<const std::uint32_t> rows) {
      const auto from = static_cast<std::size_t>(rows.data() - selected.data());
      visit(Rows{records, rows, slots.empty() ? slots : slots.subspan(from, rows.size())});
    });
  }
  /// The same of the numbers of anything that a block has `count` of.
  template <class Visit>
  void for_each(std::uint64_t count, std::span<const std::uint32_t> selected, Visit&& visit) const {
    for (std::uint32_t r = 0; r < ranges; ++r) {
      const std::uint64_t low = count * r / ranges, high = count * (r + 1) / ranges;
      visit_range(slice(selected, low, high), low, high, visit);
    }
  }

 private:
  static std::span<const std::uint32_t> slice(std::span<const std::uint32_t> ascending, std::uint64_t low,
                                              std::uint64_t high);
  template <class Visit>
  void visit_range(std::span<const std::uint32_t> rows, std::uint64_t low, std::uint64_t high,
                   Visit&& visit) const {
    if (rows.empty()) return;
    if (rows.size() <= capacity) return visit(rows);
    const std::uint64_t middle = low + (high - low) / 2;
    visit_range(slice(rows, low, middle), low, middle, visit);
    visit_range(slice(rows, middle, high), middle, high, visit);
  }
};

}  // namespace dpmpi
