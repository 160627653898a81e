#pragma once
// The columns that an HDF5 file has as a table, and what they are called.

#include <string>
#include <vector>

#include "data/columns/columns_file.hpp"
#include "data/formats/hdf5_fields.hpp"

namespace dpmpi {

/// Columns under the names that a columns file may call them by.
struct Hdf5Columns {
  std::vector<std::string> names;
  std::vector<Hdf5Field> fields;
};

/// A column's name is that of its dataset or member; with the groups where two have the same one, or where `file`
/// names it so (null: there is none). What has other than one value a record, and dimensions, are columns only if
/// it is named.
Hdf5Columns hdf5_columns(const std::vector<Hdf5Field>& all, const ColumnsFile* file);

}  // namespace dpmpi
