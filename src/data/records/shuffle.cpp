// The public shuffle that feeds running sums: every batch spread evenly over the blocks.

#include <algorithm>
#include <bit>
#include <limits>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/records/sampling.hpp"

namespace dpmpi {
namespace {

/// The blocks in van der Corput's order, which takes turns with the halves of 2^k places, within each half with its
/// halves, and so on. The blocks lie evenly on the places, so that half of the blocks is half of the places.
class BlockOrder {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  explicit BlockOrder(std::uint32_t blocks)
      : bits_(std::bit_width(blocks - 1)), at_(std::size_t{1} << bits_, none) {
    for (std::uint32_t b = 0; b < blocks; ++b) at_[(std::uint64_t{b} << bits_) / blocks] = b;
  }
  std::uint32_t places() const { return static_cast<std::uint32_t>(at_.size()); }
  /// The block that comes as number i of a round with this shift, or none.
  std::uint32_t block(std::uint32_t i, std::uint32_t shift) const { return at_[reversed(i) ^ shift]; }

 private:
  std::uint32_t reversed(std::uint32_t i) const {
    std::uint32_t out = 0;
    for (int bit = 0; bit < bits_; ++bit) out |= (i >> bit & 1) << (bits_ - 1 - bit);
    return out;
  }
  int bits_;
  std::vector<std::uint32_t> at_;
};

/// A block's records in random order, and the rounds in which they come: record i in round (i R + phase) / n of R,
/// for n records and a random phase < R, which is uniform on the rounds for a random i.
class Deck {
 public:
  Deck(std::uint64_t seed, const BlockLayout& layout, std::uint32_t block, std::uint64_t rounds)
      : first_(layout.begin(block)),
        rounds_(rounds),
        phase_(PublicStream(seed, "shuffle phase").below(block, rounds)),
        order_(PublicStream(seed, "shuffle", block).permutation(static_cast<std::uint32_t>(layout.size(block)))) {}

  bool has(std::uint64_t round) const {
    return next_ < order_.size() && (next_ * rounds_ + phase_) / order_.size() == round;
  }
  std::uint64_t deal() { return first_ + order_[next_++]; }

 private:
  std::uint64_t first_, rounds_, phase_;
  std::size_t next_ = 0;
  std::vector<std::uint32_t> order_;
};

}  // namespace

std::uint64_t Shuffled::begin(std::uint64_t t) const {
  const std::uint64_t step = t % steps_per_pass(), leaf = step % leaves;
  return step / leaves * records_per_run() + (leaf == 0 ? 0 : first + (leaf - 1) * batch);
}

std::vector<std::uint32_t> shuffle_slots(const Shuffled& rule, const BlockLayout& layout, std::uint64_t pass) {
  const bool again = rule.reshuffle && pass > 0;
  return shuffle_slots(again ? PublicStream(rule.seed, "shuffle pass").word(pass) : rule.seed, layout);
}

std::vector<std::uint32_t> shuffle_slots(std::uint64_t seed, const BlockLayout& layout) {
  if (layout.records > std::numeric_limits<std::uint32_t>::max())
    throw ConfigError(fmt::format("a shuffled order has room for 2^32 - 1 records, not {}", layout.records));
  const std::uint64_t rounds = layout.largest();
  std::vector<std::uint32_t> slots(layout.records);
  if (rounds == 0) return slots;
  std::vector<Deck> decks;
  for (std::uint32_t b = 0; b < layout.blocks; ++b) decks.emplace_back(seed, layout, b, rounds);

  const BlockOrder order(layout.blocks);
  const PublicStream shifts(seed, "shuffle shift");
  // Slots are counted from a random one, round and round: whatever the layout, a record may have any.
  std::uint64_t slot = PublicStream(seed, "shuffle origin").below(0, layout.records);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto shift = static_cast<std::uint32_t>(shifts.below(round, order.places()));
    for (std::uint32_t i = 0; i < order.places(); ++i)
      if (const std::uint32_t b = order.block(i, shift); b != BlockOrder::none && decks[b].has(round))
        slots[decks[b].deal()] = static_cast<std::uint32_t>(slot++ % layout.records);
  }
  return slots;
}

ShuffledBlock::ShuffledBlock(std::span<const std::uint32_t> slots, std::uint64_t first_index, std::uint64_t count) {
  order_.reserve(count);
  chosen_.reserve(count);  // so that no step allocates; of this memory only what a batch needs is ever touched
  for (std::uint64_t i = 0; i < count; ++i)
    order_.push_back({slots[first_index + i], static_cast<std::uint32_t>(i)});
  std::sort(order_.begin(), order_.end(), [](const Place& a, const Place& b) { return a.slot < b.slot; });
}

void ShuffledBlock::select(std::uint64_t begin, std::uint64_t end, std::vector<std::uint32_t>& rows,
                           std::vector<std::uint32_t>& slots) {
  const auto at = [&](std::uint64_t slot) {
    return std::lower_bound(order_.begin(), order_.end(), slot,
                            [](const Place& place, std::uint64_t s) { return place.slot < s; });
  };
  chosen_.assign(at(begin), at(end));
  std::sort(chosen_.begin(), chosen_.end(), [](const Place& a, const Place& b) { return a.row < b.row; });
  rows.clear();
  slots.clear();
  for (const Place& place : chosen_) {
    rows.push_back(place.row);
    slots.push_back(static_cast<std::uint32_t>(place.slot - begin));
  }
}

}  // namespace dpmpi
