#include "data/records/part_index.hpp"

#include <algorithm>

namespace dpmpi {

std::uint64_t Disjoint::uses() const { return first_release(parts.size()); }

std::uint64_t Disjoint::first_release(std::size_t p) const {
  std::uint64_t t = 0;
  for (std::size_t i = 0; i < p; ++i) t += parts[i].uses;
  return t;
}

std::size_t Disjoint::part_of(std::uint64_t t) const {
  std::size_t p = 0;
  while (p + 1 < parts.size() && t >= parts[p].uses) t -= parts[p++].uses;
  return p;
}

std::uint64_t Disjoint::begin(std::size_t p) const {
  std::uint64_t slot = 0;
  for (std::size_t i = 0; i < p; ++i) slot += parts[i].size;
  return slot;
}

PartIndex::PartIndex(const Disjoint& rule, const Shard& shard) : rule_(rule) {
  std::vector<std::uint64_t> cuts;
  for (std::size_t p = 0; p <= rule.parts.size(); ++p) cuts.push_back(rule.begin(p));
  const auto slots = shuffle_slots(rule.seed, shard.layout);
  const auto part_of_slot = [&](std::uint32_t slot) {
    return static_cast<std::size_t>(std::ranges::upper_bound(cuts, slot) - cuts.begin()) - 1;
  };
  std::vector<std::uint64_t> before(rule.parts.size(), 0);
  std::uint64_t next = 0;  // records that are counted
  const auto count_up_to = [&](std::uint64_t end) {
    for (; next < end; ++next)
      if (const std::size_t p = part_of_slot(slots[next]); p < before.size()) ++before[p];
  };
  for (const Block& block : shard.blocks) {
    OwnBlock own;
    count_up_to(block.first_index);
    own.records_before = before;
    chosen_.clear();
    for (std::uint32_t row = 0; row < block.records.units(); ++row)
      if (const std::uint64_t slot = slots[block.first_index + row]; slot < cuts.back())
        chosen_.push_back(slot << 32 | row);
    std::ranges::sort(chosen_);
    for (const std::uint64_t both : chosen_) {
      own.rows.push_back(static_cast<std::uint32_t>(both));
      own.slots.push_back(static_cast<std::uint32_t>(both >> 32));
    }
    for (const std::uint64_t cut : cuts)
      own.begin.push_back(static_cast<std::size_t>(std::ranges::lower_bound(own.slots, cut) - own.slots.begin()));
    blocks_.push_back(std::move(own));
  }
}

std::uint64_t PartIndex::place(const OwnBlock& block, std::size_t p, std::size_t at) const {
  return rule_.places == Disjoint::Places::by_slot ? block.slots[at] - rule_.begin(p)
                                                   : block.records_before[p] + (at - block.begin[p]);
}

void PartIndex::select(std::size_t i, std::size_t p, std::uint64_t begin, std::uint64_t end,
                       std::vector<std::uint32_t>& rows, std::vector<std::uint32_t>& places) {
  const OwnBlock& block = blocks_[i];
  const auto place_at = [&](std::size_t at) { return place(block, p, at); };
  const auto first_from = [&](std::uint64_t least) {  // places rise
    std::size_t low = block.begin[p], high = block.begin[p + 1];
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      place_at(middle) < least ? low = middle + 1 : high = middle;
    }
    return low;
  };
  const std::size_t last = first_from(end);
  chosen_.clear();
  for (std::size_t at = first_from(begin); at < last; ++at)
    chosen_.push_back(std::uint64_t{block.rows[at]} << 32 | (place_at(at) - begin));
  std::ranges::sort(chosen_);
  rows.clear(), places.clear();
  for (const std::uint64_t both : chosen_) {
    rows.push_back(static_cast<std::uint32_t>(both >> 32));
    places.push_back(static_cast<std::uint32_t>(both));
  }
}

std::span<const std::uint32_t> PartIndex::in_order(std::size_t i, std::size_t p) const {
  const OwnBlock& block = blocks_[i];
  return std::span(block.rows).subspan(block.begin[p], block.begin[p + 1] - block.begin[p]);
}

}  // namespace dpmpi
