#pragma once
// Records of tables in which a quoted field holds line ends.
//
// A quotation mark opens a field where a field begins: at the beginning of a line that begins a record, or behind a
// delimiter, and blanks. It closes the field unless it is doubled. Others are characters like any.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dpmpi {

/// Whether a quoted field is open behind `line`, if one was (`open`) before it.
bool open_behind(std::string_view line, bool open, char delimiter);

/// Line ends of a record before the quotation mark of a field that it leaves open; 0 if there is none.
std::uint64_t lines_before_open_quote(std::string_view record, char delimiter);

/// Where the record that begins at byte `at` ends, of which the first line ends at `stop`: at a line end, or at the
/// end of the text, where a field may be left open. Adds its further lines to `lines`.
std::size_t end_of_record(std::string_view text, std::size_t at, std::size_t stop, char delimiter,
                          std::uint64_t& lines);

}  // namespace dpmpi
