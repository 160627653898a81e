#pragma once
#include <string>

#include "dpmpi/data/arrays.hpp"
#include "dpmpi/data/records.hpp"

namespace dpmpi {

/// Writes records to a file, under a temporary name until it is complete. Features and labels are written such that
/// they read back to the same bits; norms, bias and row_scale are not (they come from the config that loads the
/// file). libsvm: indices from 1; csv: header `label,x1,...`; native: any storage. Local. Throws DataError if it
/// cannot be written, ConfigError for another format, BugError for empty slots.
void write_records(const std::string& path, Format format, const Records& records);

}  // namespace dpmpi
