#pragma once
// How a block's bytes come to the rank that owns it.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "core/console/progress.hpp"
#include "data/load/block_places.hpp"

namespace dpmpi {

/// Bytes of a block.
struct BlockBytes {
  std::uint32_t block = 0;
  std::string_view bytes;
  std::size_t part = 0;  ///< of SourceFile::parts, if there are any: where the bytes lie
  bool begins = false;   ///< it begins with them
  bool more = false;     ///< further bytes follow
};

/// Reads the extents of this rank's blocks and calls consume(bytes) for consecutive pieces of them: whole lines of
/// one file, or whole rows of a section. It returns how many of the bytes at the end of a piece it leaves for the
/// next, if more follow. Plain files are read by every rank, gzipped ones by the root, which sends each block to
/// its owner and adds its slots to `sent`. Collective; an error of reading or consuming on any rank is thrown on
/// all.
void fetch(const Communicator& comm, const SourceFile& source, const std::vector<Extent>& extents,
           const BlockRange& range, const Section& section, Progress& sent,
           const std::function<std::uint64_t(const BlockBytes&)>& consume);

}  // namespace dpmpi
