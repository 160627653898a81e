#pragma once
// Reads rows of datasets of an HDF5 file.

#include <memory>
#include <string>
#include <vector>

#include "data/formats/file.hpp"
#include "data/formats/hdf5_fields.hpp"

namespace dpmpi {

/// Arrays, each of fields side by side (Hdf5Field::cell()), as bytes one behind the other: rows of the first, and
/// so on. Texts (Hdf5Text) stand until it is read again. Whole rows are read, of which every rank reads its own:
/// chunks that they lie in are kept until their rows are read. Throws DataError, here for chunks that are too large
/// to be kept. Local.
std::unique_ptr<FileContent> hdf5_rows(const std::string& path, const std::vector<std::vector<Hdf5Field>>& arrays);

}  // namespace dpmpi
