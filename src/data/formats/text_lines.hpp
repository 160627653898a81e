#pragma once
// Lines of texts: where they begin in a file, and which of those in a piece are records.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/formats/format.hpp"
#include "data/records/text.hpp"

namespace dpmpi {

/// Calls visit(offset, line without line end) for each line whose first byte lies in [from, to), reading on beyond
/// `to` to complete the last one. `from` may lie inside a line unless it is `start`, where the file's lines begin.
void for_each_line(InputFile& file, std::uint64_t start, std::uint64_t from, std::uint64_t to,
                   const std::function<void(std::uint64_t, std::string_view)>& visit);

/// True if the line is a record: not blank, and not a comment (`comment` '\0': there are none).
inline bool is_record(std::string_view line, char comment) {
  const std::string_view text = trim(line);
  return !text.empty() && (comment == '\0' || text.front() != comment);
}

/// Calls row(line, global_index) for each record of `text` (whole lines) and moves `position` behind it. A
/// Malformed that row throws becomes a DataError with file and line.
template <class Row>
void for_each_record(std::string_view text, char comment, Position& position, Row&& row) {
  try {
    for (std::size_t at = 0; at < text.size(); ++position.line) {
      const std::size_t stop = std::min(text.find('\n', at), text.size());
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
