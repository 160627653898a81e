#pragma once
#include <vector>

#include "dpmpi/data/labels.hpp"
#include "source.hpp"

namespace dpmpi {

/// This rank's blocks of one opened file. Collective; errors on any rank are thrown on all.
std::vector<Block> load_file(const Communicator& comm, const DataOptions& options, const LabelRule& labels,
                             Source& source, const BlockRange& range);

}  // namespace dpmpi
