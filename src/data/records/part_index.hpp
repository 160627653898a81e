#pragma once
// Which of a rank's records are at which places of which part of a Disjoint rule.

#include <cstdint>
#include <span>
#include <vector>

#include "data/records/blocks.hpp"
#include "data/records/sampling.hpp"

namespace dpmpi {

/// Built once from positions alone; `shard` is not kept. Local.
class PartIndex {
 public:
  /// Throws ConfigError if there are 2^32 records or more.
  PartIndex(const Disjoint& rule, const Shard& shard);

  /// Of own block `i` (counted from 0): the rows at places [begin, end) of part `p`, ascending, and their places
  /// less `begin`.
  void select(std::size_t i, std::size_t p, std::uint64_t begin, std::uint64_t end,
              std::vector<std::uint32_t>& rows, std::vector<std::uint32_t>& places);
  /// All its rows of part `p` in the order of their places.
  std::span<const std::uint32_t> in_order(std::size_t i, std::size_t p) const;
  /// by_block: the place of the first of them.
  std::uint64_t first_place(std::size_t i, std::size_t p) const { return blocks_[i].records_before[p]; }

 private:
  struct OwnBlock {
    std::vector<std::uint32_t> rows, slots;     // of the records in parts, by slot
    std::vector<std::size_t> begin;             // of every part in them, and the end
    std::vector<std::uint64_t> records_before;  // of every part, in the blocks before this one
  };
  std::uint64_t place(const OwnBlock& block, std::size_t p, std::size_t at) const;

  Disjoint rule_;
  std::vector<OwnBlock> blocks_;
  std::vector<std::uint64_t> chosen_;  // two numbers of a record in one word, to sort by the first
};

}  // namespace dpmpi
