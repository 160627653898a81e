#pragma once
#include <string>
#include <vector>

#include "data/records/options.hpp"

namespace dpmpi {

/// Reads the file of data.columns, if that is set (its copy, where there is one), into `options`, and its digest.
/// Appends what is wrong with it, or with settings that say something else, to `problems`. Every process does so
/// before MPI starts. Local.
void read_columns(DataOptions& options, std::vector<std::string>& problems);

}  // namespace dpmpi
