#pragma once
#include <cstdint>
#include <vector>

#include "data/formats/arrays.hpp"
#include "data/formats/file.hpp"
#include "data/records/builder.hpp"

namespace dpmpi {

/// Appends rows first_row .. first_row + labels.size() - 1 of a native sparse file to `out`. Local. Throws
/// DataError.
void read_native_sparse(InputFile& file, const NativeHeader& header, std::uint64_t first_row,
                        const std::vector<float>& labels, const FeatureMap& map, RecordsBuilder& out);

}  // namespace dpmpi
