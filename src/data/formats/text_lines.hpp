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

/// Throws DataError if these are the first bytes of something else than text: a spreadsheet, an archive.
void refuse_no_text(const Head& head);

/// Calls visit(offset, line without line end) for each line whose first byte lies in [from, to), reading on beyond
/// `to` to complete the last one. `from` may lie inside a line unless it is `start`, where the file's lines begin.
void for_each_line(InputFile& file, std::uint64_t start, std::uint64_t from, std::uint64_t to,
                   const std::function<void(std::uint64_t, std::string_view)>& visit);

/// Calls visit(position, line) for each record of a whole text, whose position is told.
void for_each_record_of(InputFile& file, const Section& records,
                        const std::function<void(const Position&, std::string_view)>& visit);

/// True if the line is a record: not blank, and not a comment (`comment` '\0': there are none).
inline bool is_record(std::string_view line, char comment) {
  const std::string_view text = trim(line);
  return !text.empty() && (comment == '\0' || text.front() != comment);
}

/// Calls row(line, global_index) for each record of `text` (whole lines) and moves `position` behind it.
template <class Row>
void for_each_record(std::string_view text, char comment, Position& position, Row&& row) {
  for (std::size_t at = 0; at < text.size(); ++position.line) {
    const std::size_t stop = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, stop - at);
    at = stop + 1;
    if (!is_record(line, comment)) continue;
    row(line, position.global_index);
    ++position.global_index;
  }
}

/// A fault of the line at which a piece is.
inline void add_fault(const Piece& piece, std::uint64_t kind, const char* what) {
  const Position& at = piece.position;
  if (!piece.faults.knows(kind))
    piece.faults.add(at.line, kind, fmt::format("{}:{}: {}", at.file, at.line_in_file(), what));
}

/// Calls row(line, global_index) for each record of a piece, and moves its position. A row that throws Malformed is
/// left unfinished, and is a fault of that kind.
template <class Row>
void for_each_record(const Piece& piece, Row&& row) {
  for_each_record(piece.bytes, piece.section.comment, piece.position,
                  [&](std::string_view line, std::uint64_t global_index) {
                    try {
                      row(line, global_index);
                    } catch (const Malformed& problem) {
                      add_fault(piece, problem.kind, problem.what());
                    }
                  });
}

}  // namespace dpmpi
