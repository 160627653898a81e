#pragma once
// Where the blocks of a file lie in it. The root learns all of it and tells every rank about its own blocks: where
// data.records is declared, how many slots hold a record is secret, and lengths of lines follow private values.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "data/load/input_files.hpp"
#include "data/records/blocks.hpp"

namespace dpmpi {

/// Records of a file whose number of records is public: every rank learns it. Collective (text: counts lines in
/// equal byte ranges).
std::uint64_t count_records(const Communicator& comm, const Source& source);

/// The bytes of one block's rows.
struct Extent {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t line = 0;    ///< text: number of the first line
  std::uint64_t before = 0;  ///< text of several files: lines of those before the one in which it begins
};

/// The blocks first .. last - 1 of a layout that hold one file's records, and who owns which of them (a site's file
/// is opened by each owner alone, whose `ownership` then has its own run only).
struct BlockRange {
  const BlockLayout& layout;
  const Ownership& ownership;
  std::uint32_t first, last;
  std::uint32_t count() const { return last - first; }
  std::uint64_t first_index() const { return layout.begin(first); }  ///< global index of the file's first record
  std::uint64_t slots() const { return layout.begin(last) - first_index(); }
  /// The file's row at which a block begins, when the file has `records` rows.
  std::uint64_t row(std::uint32_t block, std::uint64_t records) const {
    return std::min(layout.begin(block) - first_index(), records);
  }
};

/// Extents of the blocks in a section, index block - range.first: on the root of all blocks, elsewhere of this
/// rank's own (the others are empty; of a gzipped text, which the root reads, only the lines are told). Collective.
/// Throws DataError if the file holds more records than there are slots.
std::vector<Extent> locate_blocks(const Communicator& comm, const Source& source, const Section& section,
                                  const BlockRange& range);

}  // namespace dpmpi
