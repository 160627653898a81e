#include "data/columns/added_attributes.hpp"

#include <algorithm>
#include <string_view>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

/// Where the word at or behind `at` ends, as read_column_line reads it.
std::size_t end_of_word(std::string_view text, std::size_t at) {
  constexpr std::string_view ends = " \t\r\n";
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  if (at == text.size() || text[at] != '"') return std::min(text.find_first_of(ends, at), text.size());
  for (++at; at < text.size(); ++at) {
    if (text[at] != '"') continue;
    if (at + 1 == text.size() || text[at + 1] != '"') return at + 1;
    ++at;  // a doubled one
  }
  return at;
}

/// Where a line, counted from 1, begins.
std::size_t begin_of_line(std::string_view text, std::size_t line) {
  std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0;
  for (; line > 1; --line) {
    const std::size_t stop = text.find('\n', at);
    verify(stop != text.npos, "a column stands in a line of its file");
    at = stop + 1;
  }
  return at;
}

}  // namespace

std::vector<std::size_t> columns_without_scale(const ColumnsFile& file) {
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < file.columns.size(); ++c) {
    const ColumnRule& rule = file.columns[c];
    if (rule.kind == ColumnKind::number && !rule.scaled) found.push_back(c);
  }
  return found;
}

std::vector<std::size_t> categories_without_rare(const ColumnsFile& file) {
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < file.columns.size(); ++c)
    if (file.columns[c].kind == ColumnKind::category && file.columns[c].rare.empty()) found.push_back(c);
  return found;
}

std::string with_attributes(const ColumnsFile& file, const std::vector<AddedAttributes>& added) {
  std::string text = file.text;
  for (auto one = added.rbegin(); one != added.rend(); ++one) {  // from behind: places before stay what they are
    const std::size_t name = end_of_word(text, begin_of_line(text, file.columns.at(one->column).line));
    text.insert(end_of_word(text, name), one->text);
  }
  return text;
}

}  // namespace dpmpi
