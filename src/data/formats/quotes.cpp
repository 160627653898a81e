#include "data/formats/quotes.hpp"

#include <algorithm>

namespace dpmpi {
namespace {

constexpr std::size_t none_open = std::string_view::npos;

/// Whether a field begins at byte `at` of a line.
bool begins_field(std::string_view line, std::size_t at, char delimiter) {
  while (at > 0 && line[at - 1] == ' ') --at;
  return at == 0 || line[at - 1] == delimiter;
}

/// The first quotation mark from byte `at` on, which in most tables is near or nowhere.
std::size_t next_quote(std::string_view line, std::size_t at) {
  constexpr std::size_t near = 16;
  const std::size_t stop = std::min(at + near, line.size());
  for (; at < stop; ++at)
    if (line[at] == '"') return at;
  return line.find('"', at);
}

/// The quotation mark that opened a field that is open at the end; none_open if none is. One that was open before
/// (`open`) counts as byte 0.
std::size_t open_quote(std::string_view line, bool open, char delimiter) {
  std::size_t opened = open ? 0 : none_open;
  for (std::size_t at = next_quote(line, 0); at != line.npos; at = next_quote(line, at)) {
    if (opened == none_open) {
      if (begins_field(line, at, delimiter)) opened = at;
    } else if (at + 1 < line.size() && line[at + 1] == '"') {
      ++at;
    } else {
      opened = none_open;
    }
    ++at;
  }
  return opened;
}

}  // namespace

bool open_behind(std::string_view line, bool open, char delimiter) {
  const std::size_t last = line.rfind('"');
  if (last == line.npos) return open;
  // One that begins no field and is not the second of two closes a field, or is a character like any.
  if (!begins_field(line, last, delimiter) && line[last - 1] != '"') return false;
  return open_quote(line, open, delimiter) != none_open;
}

std::uint64_t lines_before_open_quote(std::string_view record, char delimiter) {
  const std::size_t opened = open_quote(record, false, delimiter);
  if (opened == none_open) return 0;
  return static_cast<std::uint64_t>(std::ranges::count(record.substr(0, opened), '\n'));
}

std::size_t end_of_record(std::string_view text, std::size_t at, std::size_t stop, char delimiter,
                          std::uint64_t& lines) {
  for (bool open = false;; ++lines) {
    open = open_behind(text.substr(at, stop - at), open, delimiter);
    if (!open || stop >= text.size()) return stop;
    at = stop + 1;
    stop = std::min(text.find('\n', at), text.size());
  }
}

}  // namespace dpmpi
