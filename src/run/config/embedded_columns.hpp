#pragma once
// Columns of embeddings by their names, where a columns file says which features they have.

#include <string>
#include <string_view>
#include <vector>

#include "data/columns/columns_file.hpp"

namespace dpmpi {

/// objective.layers with FIRST-LAST, features of a record counted from 1, in place of each name of a column behind
/// "embedding SIZE of". The columns of an embedding are put into their order. Appends a problem for each name that
/// is of no column with one feature for each word. `file`: null where there is no columns file.
std::string with_embedded_columns(std::string_view layers, const ColumnsFile* file,
                                  std::vector<std::string>& problems);

}  // namespace dpmpi
