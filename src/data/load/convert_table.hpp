#pragma once
// A table of text (csv, tsv) written as HDF5 with its columns as they are.

#include <cstdint>
#include <string>

#include "data/records/options.hpp"

namespace dpmpi {

/// Writes a dataset for each column. By one columns file (data.columns) both files give the same records: a column
/// is written as numbers only if all of its fields are read back as the same fields, or mean the same by its line.
/// Returns the number of records. Local. Throws ConfigError, DataError.
std::uint64_t convert_table(const std::string& input, const std::string& output, const DataOptions& data);

}  // namespace dpmpi
