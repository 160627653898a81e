#pragma once
// One dataset file (or images,labels pair) opened by the ranks of a communicator, and the byte ranges of its
// blocks.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "core/console/progress.hpp"
#include "data/formats/file.hpp"
#include "data/load/file_layout.hpp"
#include "data/load/load.hpp"
#include "data/records/blocks.hpp"

namespace dpmpi {

/// A file as a rank sees it: open if this rank reads it (all ranks a plain file, only the root a gzipped one).
struct SourceFile {
  std::unique_ptr<InputFile> file;
  std::string path;  ///< the root's, for messages
  bool gzip = false;
};

struct Source {
  SourceFile records, labels;  ///< labels: IDX and NumPy pairs
  FileLayout layout;
};

/// Opens `name` ("file" or "images,labels"). The root looks at the first bytes and tells the others their layout.
/// Collective; errors are thrown on all ranks.
Source open_source(const Communicator& comm, const DataOptions& options, const std::string& name, DataRole role);

/// Records of a file whose number of records is public: every rank learns it. Collective (text: counts lines in
/// equal byte ranges).
std::uint64_t count_records(const Communicator& comm, Source& source);

/// The bytes of one block's rows.
struct Extent {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t line = 0;  ///< text: number of the first line
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

/// Extents of the text blocks, index block - range.first: on the root of all blocks, elsewhere of this rank's own
/// (the others are empty; of a gzipped text, which the root reads, only the lines are told). Collective. Throws
/// DataError if the file holds more records than there are slots.
std::vector<Extent> locate_text(const Communicator& comm, Source& source, const BlockRange& range);
/// The same for the rows of fixed length in `array`, which the root knows. Collective.
std::vector<Extent> locate_rows(const Communicator& comm, const ArrayHeader& array, const BlockRange& range);
/// Throws DataError if `records` > `slots`.
void check_slots(const std::string& path, std::uint64_t records, std::uint64_t slots);

/// Reads the extents of this rank's blocks and calls consume(block, bytes) for consecutive pieces of them: whole
/// lines (unit 0) or whole rows of `unit` bytes. Plain files are read by every rank, gzipped ones by the root,
/// which sends each block to its owner and adds its slots to `sent`. Collective; an error of reading or consuming
/// on any rank is thrown on all.
void fetch(const Communicator& comm, SourceFile& source, const std::vector<Extent>& extents,
           const BlockRange& range, std::uint64_t unit, Progress& sent,
           const std::function<void(std::uint32_t, std::string_view)>& consume);

}  // namespace dpmpi
