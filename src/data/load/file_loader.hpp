#pragma once
#include <vector>

#include "data/load/input_files.hpp"
#include "data/records/labels.hpp"

namespace dpmpi {

/// This rank's blocks of one opened file. Collective; errors on any rank are thrown on all.
std::vector<Block> load_file(const Communicator& comm, const DataOptions& options, const LabelRule& labels,
                             Source& source, const BlockRange& range);

}  // namespace dpmpi
