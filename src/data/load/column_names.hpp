#pragma once
#include "data/formats/format.hpp"
#include "data/load/data_files.hpp"

namespace dpmpi {

/// A first line that data.header = auto takes for column names may be a private record, and names are printed. So
/// of a private file it is taken for names only if the config or the header of data.eval has every one of them.
/// Throws ConfigError if one is unknown. Local: reads the beginning of data.eval if it has to.
void check_public_names(const Head& head, const Dataset& dataset);

}  // namespace dpmpi
