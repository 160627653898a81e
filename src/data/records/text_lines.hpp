#pragma once
// Lines of a piece of text: which of them are records, and where an error happened.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/records/text.hpp"

namespace dpmpi {

/// Where a piece of text stands, for messages and for rules that depend on a record's global index.
struct TextPosition {
  std::string file;
  std::uint64_t line = 1;          ///< of the first line of the text
  std::uint64_t global_index = 0;  ///< of the first record of the text
};

/// True if the line is a record: not blank, and not a comment (`comment` '\0': there are none).
inline bool is_record(std::string_view line, char comment) {
  const std::string_view text = trim(line);
  return !text.empty() && (comment == '\0' || text.front() != comment);
}

/// Calls row(line, global_index) for each record of `text` (whole lines) and moves `position` behind it. A
/// Malformed that row throws becomes a DataError with file and line.
template <class Row>
void for_each_record(std::string_view text, char comment, TextPosition& position, Row&& row) {
  try {
    for (std::size_t at = 0; at < text.size(); ++position.line) {
      const auto* const newline = static_cast<const char*>(std::memchr(text.data() + at, '\n', text.size() - at));
      const std::size_t stop = newline != nullptr ? static_cast<std::size_t>(newline - text.data()) : text.size();
      const std::string_view line = text.substr(at, stop - at);
      at = stop + 1;
      if (!is_record(line, comment)) continue;
      row(line, position.global_index);
      ++position.global_index;
    }
  } catch (const Malformed& problem) {
    throw DataError(fmt::format("{}:{}: {}", position.file, position.line, problem.what()));
  }
}

}  // namespace dpmpi
