#pragma once
#include <string>

#include "core/console/progress.hpp"
#include "data/records/records.hpp"

namespace dpmpi {

/// Writes dense records to the file `path`, which exists, as HDF5: dataset `features` (records x features, float32
/// or uint8) and dataset `labels` (records, float32), in chunks of about 1 MiB, not compressed; the same bytes
/// every time. Local. Throws DataError if it cannot be written, ConfigError for sparse records.
void write_hdf5(const std::string& path, const Records& records, Progress& progress);

}  // namespace dpmpi
