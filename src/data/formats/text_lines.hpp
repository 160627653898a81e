#pragma once
// Lines of texts: where they begin in a file, and which of those in a piece are records.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/formats/format.hpp"
#include "data/formats/quotes.hpp"
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

/// Calls row(record, global_index) for each record of `text` (whole records) and moves `position` behind it.
template <class Row>
void for_each_record(std::string_view text, const Section& section, Position& position, Row&& row) {
  const bool quotes = section.delimiter != '\0' && text.find('"') != text.npos;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    std::size_t stop = std::min(text.find('\n', from), text.size());
    std::uint64_t lines = 1;
    if (is_record(text.substr(from, stop - from), section.comment)) {
      if (quotes) stop = end_of_record(text, from, stop, section.delimiter, lines);
      row(text.substr(from, stop - from), position.global_index);
      ++position.global_index;
    }
    position.line += lines;
    at = stop + 1;
  }
}

/// A fault of the line at which a piece is, or of one so many lines farther on.
inline void add_fault(const Piece& piece, std::uint64_t kind, const char* what, std::uint64_t farther = 0) {
  const Position& at = piece.position;
  if (!piece.faults.knows(kind))
    piece.faults.add(at.line + farther, kind, fmt::format("{}:{}: {}", at.file, at.line_in_file() + farther, what));
}

/// Records of a piece of which most are a line each: whoever reads one finds out that a quoted field goes on.
template <class Row>
class PieceReader {
 public:
  PieceReader(const Piece& piece, Row& row) : piece_(piece), text_(piece.bytes), row_(row) {}

  void run() {
    Position& at = piece_.position;
    at.left = 0;
    while (from_ < text_.size()) {
      stop_ = std::min(text_.find('\n', from_), text_.size());
      lines_ = 1;
      if (is_record(line(), piece_.section.comment)) {
        if (!take()) return void(at.left = text_.size() - from_);
        ++at.global_index;
      }
      at.line += lines_;
      from_ = stop_ + 1;
    }
  }

 private:
  std::string_view line() const { return text_.substr(from_, stop_ - from_); }

  /// False if the record goes on behind the piece.
  bool take() {
    try {
      row_(line(), piece_.position.global_index);
      return true;
    } catch (const Malformed& problem) {
      if (problem.kind != Malformed::quotes) return add_fault(piece_, problem.kind, problem.what()), true;
    }
    if (piece_.section.delimiter != '\0')
      stop_ = end_of_record(text_, from_, stop_, piece_.section.delimiter, lines_);
    if (piece_.position.more && stop_ >= text_.size()) return false;
    try {
      row_(line(), piece_.position.global_index);
    } catch (const Malformed& problem) {
      add_fault(piece_, problem.kind, problem.what(), lines_before_open_quote(line(), piece_.section.delimiter));
    }
    return true;
  }

  const Piece& piece_;
  std::string_view text_;
  Row& row_;
  std::size_t from_ = 0, stop_ = 0;
  std::uint64_t lines_ = 1;
};

/// Calls row(record, global_index) for each record of a piece, and moves its position. A row that throws Malformed
/// is left unfinished, and is a fault of that kind; if a quotation mark is the matter, it is first called with all
/// lines of the record.
template <class Row>
void for_each_record(const Piece& piece, Row&& row) {
  PieceReader<std::remove_reference_t<Row>>(piece, row).run();
}

}  // namespace dpmpi
