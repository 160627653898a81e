#pragma once
// A public table, read to its end.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "data/formats/table.hpp"
#include "data/inspect/column_facts.hpp"

namespace dpmpi {

struct InspectedTable {
  TableHead head;
  std::vector<std::string> names;
  std::vector<ColumnFacts> columns;
  std::size_t records = 0;
  bool guessed_header = false;               ///< its words, of which no other line has one, were taken for names
  std::optional<std::size_t> label, person;  // their places
  std::string remarks = {};                  ///< comment lines on what of the file is no column
};

/// The place of the column that data.person names, else of one that is called like whose a record is, if there is
/// one. Throws ConfigError.
std::optional<std::size_t> place_of_person(const std::vector<std::string>& names, const ReadingRules& rules);

/// All of a table whose fields `delimiter` separates, and that the files `paths` are together, called `name`.
/// Throws DataError, ConfigError. Local.
InspectedTable read_table(const std::string& name, const std::vector<std::string>& paths, ReadingRules rules,
                          char delimiter);

}  // namespace dpmpi
