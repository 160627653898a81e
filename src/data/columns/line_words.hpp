#pragma once
// The words of one line of a columns file: a name, a kind, and attributes.

#include <string>
#include <string_view>
#include <vector>

namespace dpmpi {

/// `key`, or `key=value,value,...`.
struct ColumnAttribute {
  std::string key;
  std::vector<std::string> values;  ///< without quotation marks; none: the key stands alone
};

/// What stands in a line. A word with blanks, commas or quotation marks stands in quotation marks, in which a
/// quotation mark is doubled. `#` at the beginning of a word begins a comment.
struct ColumnLine {
  std::string name, kind;
  std::vector<ColumnAttribute> attributes;
};

/// False if there is nothing but blanks and a comment. Throws ConfigError that says what is wrong, without a place.
bool read_column_line(std::string_view text, ColumnLine& line);

/// Whether the line goes on in the next one: it ends in a comma, which is no part of a comment.
bool goes_on(std::string_view text);

/// A word as it is written, in quotation marks if it needs them. It has no line end.
std::string written_word(std::string_view word);

}  // namespace dpmpi
