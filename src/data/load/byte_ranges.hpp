#pragma once
// How a block's bytes come to the rank that owns it.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "core/console/progress.hpp"
#include "data/load/block_places.hpp"

namespace dpmpi {

/// Reads the extents of this rank's blocks and calls consume(block, bytes, offset) for consecutive pieces of them:
/// whole lines of one file (unit 0) or whole rows of `unit` bytes. Plain files are read by every rank, gzipped ones
/// by the root, which sends each block to its owner and adds its slots to `sent`. Collective; an error of reading
/// or consuming on any rank is thrown on all.
void fetch(const Communicator& comm, const SourceFile& source, const std::vector<Extent>& extents,
           const BlockRange& range, std::uint64_t unit, Progress& sent,
           const std::function<void(std::uint32_t, std::string_view, std::uint64_t)>& consume);

}  // namespace dpmpi
