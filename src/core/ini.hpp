#pragma once
// The text of a config file: lines `[section]`, `key = value` and `# comment`. A value that these lines could not
// hold as it is stands in quotation marks, in which \" and \\ are a quotation mark and a backslash.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dpmpi {

struct IniEntry {
  std::string name;   ///< "section.key"
  std::string value;  ///< without quotation marks
  std::size_t line;   ///< from 1
};

/// In the order of the text. A value that ends in a comma goes on in the next line, if there is no equals sign in
/// it. Throws ConfigError that lists all syntax problems, each with `path` and its line.
std::vector<IniEntry> parse_ini(std::string_view text, const std::string& path);

/// How a value is written, so that it reads back as it is: as it is if that will do, else in quotation marks.
/// Throws ConfigError for what no config file can hold (see refuse_unwritable).
std::string ini_value(std::string_view value);

/// Throws ConfigError that names `what` if a value holds a line break or a control character.
void refuse_unwritable(std::string_view value, std::string_view what);

}  // namespace dpmpi
