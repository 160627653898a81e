#pragma once
// How n records are cut into blocks, and blocks into runs owned by ranks (numerics contract N1). The cut is a
// constant of the config; who owns what is not, and nothing that leaves the ranks may depend on it.

#include <cstdint>
#include <memory>
#include <vector>

#include "data/records/mapped_file.hpp"
#include "data/records/records.hpp"

namespace dpmpi {

/// Records 0..n-1 in `blocks` contiguous blocks whose sizes differ by at most one, unless `cuts` says where they
/// begin.
struct BlockLayout {
  std::uint64_t records = 0;
  std::uint32_t blocks = 1;
  std::vector<std::uint64_t> cuts = {};  ///< begin of every block and then `records`, ascending; empty: even blocks

  /// The layout of a dataset: even blocks; with site files, the same number of even blocks for every site, so that
  /// no block mixes two sites; the slots of a unit are in one block. Throws ConfigError (what to set) if `blocks`
  /// is not a multiple of the sites.
  static BlockLayout of(const DatasetFacts& facts, std::uint32_t blocks);

  std::uint64_t begin(std::uint32_t block) const;  ///< first global index; begin(blocks) == records
  std::uint64_t size(std::uint32_t block) const { return begin(block + 1) - begin(block); }
  std::uint64_t largest() const;  ///< size of the largest block
};

/// Runs of blocks: rank r owns blocks first[r] .. first[r + 1] - 1.
struct Ownership {
  std::vector<std::uint32_t> first;
  std::uint32_t begin(int rank) const { return first[static_cast<std::size_t>(rank)]; }
  std::uint32_t end(int rank) const { return first[static_cast<std::size_t>(rank) + 1]; }
  int owner(std::uint32_t block) const;
  /// Even runs. Throws ConfigError (what to set) if there are more ranks than blocks.
  static Ownership even(std::uint32_t blocks, int ranks);
  /// Runs that leave the root as many blocks less as its own work of `root_work` blocks per step is worth.
  /// `afterwards`: when all have done their blocks and the root its own work, every block takes this much more.
  static Ownership balanced(std::uint32_t blocks, int ranks, double root_work, double afterwards = 0);
};

/// One block in memory.
struct Block {
  std::uint32_t id = 0;           ///< which block
  std::uint64_t first_index = 0;  ///< global index of its first record
  Records records;
};

/// What one rank holds of a dataset.
struct Shard {
  DatasetFacts facts;
  BlockLayout layout;
  std::vector<Block> blocks;  ///< this rank's run, ascending
  /// In which rows of these blocks stand (data.memory = map).
  std::vector<std::shared_ptr<const MappedFile>> files = {};

  /// Before a sum of mapped rows leaves the rank. Throws DataError if one of the files was written to. Local.
  void check_unchanged() const {
    for (const auto& file : files) file->check_unchanged();
  }
};

}  // namespace dpmpi
