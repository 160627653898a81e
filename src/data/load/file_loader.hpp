#pragma once
#include <memory>
#include <vector>

#include "data/load/block_places.hpp"
#include "data/records/labels.hpp"

namespace dpmpi {

struct LoadedBlocks {
  std::vector<Block> blocks;
  std::shared_ptr<const MappedFile> file = {};  ///< in which their rows stand, if they stay there
};

/// This rank's blocks of one opened file, and what is wrong in them: with faults, they mean nothing. Collective;
/// errors on any rank are thrown on all.
LoadedBlocks load_file(const Communicator& comm, const Dataset& dataset, const LabelRule& labels,
                       const Source& source, const BlockRange& range, Faults& faults);

}  // namespace dpmpi
