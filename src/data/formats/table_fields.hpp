#pragma once
#include <string>
#include <vector>

#include "data/records/options.hpp"

namespace dpmpi {

/// "a,b," of the columns with these names: first the names, then the fields of every record as they stand in the
/// table (that `paths` are together, called `name`), in quotation marks where they need them. Local. Throws
/// ConfigError (naming --keep) if a column is missing or the file is no table, DataError if it cannot be read.
std::vector<std::string> fields_of_table(const std::string& name, const std::vector<std::string>& paths,
                                         const ReadingRules& rules, const std::vector<std::string>& names);

}  // namespace dpmpi
