#pragma once
// A columns file with more in some of its lines: what was found out about columns of which it says nothing.

#include <cstddef>
#include <string>
#include <vector>

#include "data/columns/columns_file.hpp"

namespace dpmpi {

/// Positions in file.columns of the columns of numbers whose lines say nothing of their size: neither range nor
/// mean nor std.
std::vector<std::size_t> columns_without_scale(const ColumnsFile& file);

/// Those of the categories whose lines do not say which words are rare.
std::vector<std::size_t> categories_without_rare(const ColumnsFile& file);

/// Attributes as they are written, with a blank before each.
struct AddedAttributes {
  std::size_t column;  ///< position in ColumnsFile::columns
  std::string text;
};
/// The text of the file with these behind the kinds of their columns; all else stays as it is.
std::string with_attributes(const ColumnsFile& file, const std::vector<AddedAttributes>& added);

}  // namespace dpmpi
