#pragma once
// A public HDF5 file with columns of numbers and words, read to its end.

#include <string>
#include <vector>

#include "data/inspect/inspected_table.hpp"

namespace dpmpi {

/// All of the table that the files `paths` are together. Columns are those that a columns file would have to name;
/// one that cannot be read has no values. Throws DataError, ConfigError. Local.
InspectedTable read_hdf5_table(const std::vector<std::string>& paths, const ReadingRules& rules);

}  // namespace dpmpi
