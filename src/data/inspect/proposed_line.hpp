#pragma once
// A line of a columns file for a column of a public table.

#include <string>
#include <vector>

#include "data/columns/columns_file.hpp"
#include "data/inspect/column_facts.hpp"

namespace dpmpi {

/// The line, with a comment line before it where somebody should look. `is_label`: the column is the label. Throws
/// Malformed for a label that no line could make numbers of.
std::string proposed_line(const std::string& name, const ColumnFacts& facts, bool is_label);

/// Whether a column is called like one that says whose a record is.
bool names_a_person(const std::string& name);
/// The line of such a column.
std::string person_line(const std::string& name);

/// A comment line for a column that is called like a weight of records or an exposure, which values do not tell
/// from other numbers; else empty.
std::string hint_by_name(const std::string& name);

/// NAME KIND ATTRIBUTES, in several lines if it is long.
std::string written_line(const std::string& name, ColumnKind kind, const std::vector<std::string>& attributes);

/// key=word,word,...
std::string written_words(const std::string& key, const std::vector<std::string>& words);

}  // namespace dpmpi
