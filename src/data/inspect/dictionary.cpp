// Columns files from data dictionaries.

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/files/file_reader.hpp"
#include "core/trim.hpp"
#include "data/columns/line_words.hpp"
#include "data/formats/table.hpp"
#include "data/inspect/propose.hpp"
#include "data/inspect/proposed_line.hpp"
#include "data/load/data_files.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

/// What dictionaries call the kinds, beside the kinds' own names.
const std::map<std::string, ColumnKind, std::less<>>& dictionary_words() {
  using enum ColumnKind;
  static const std::map<std::string, ColumnKind, std::less<>> words{
      {"int", number},        {"integer", number},    {"float", number},
      {"double", number},     {"numeric", number},    {"real", number},
      {"decimal", number},    {"continuous", number}, {"bool", yes_no},
      {"boolean", yes_no},    {"binary", yes_no},     {"logical", yes_no},
      {"text", category},     {"string", category},   {"categorical", category},
      {"factor", category},   {"nominal", category},  {"varchar", category},
      {"char", category},     {"ordered", ordinal},   {"datetime", date},
      {"timestamp", date},    {"day", date},          {"id", ignore},
      {"identifier", ignore}, {"skip", ignore},       {"target", label},
      {"outcome", label},     {"class", label}};
  return words;
}

ColumnKind kind_in_dictionary(std::string word) {
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::vector<std::string> kinds = column_kind_names();
  if (const auto own = std::ranges::find(kinds, word); own != kinds.end())
    return static_cast<ColumnKind>(own - kinds.begin());
  if (const auto other = dictionary_words().find(word); other != dictionary_words().end()) return other->second;
  throw ConfigError(fmt::format("kind {} is not known; kinds are {}, or words such as integer, text, boolean, id",
                                show(word), fmt::join(kinds, ", ")));
}

/// What VALUES mean for a kind: words with bars between, LOW..HIGH of a number, the format of a date.
std::vector<std::string> attributes_of_values(ColumnKind kind, const std::string& values) {
  const std::vector<std::string> words = values.empty() ? std::vector<std::string>() : split_words(values);
  switch (kind) {
    case ColumnKind::number:
      return values.empty() ? words : std::vector<std::string>{"range=" + values};
    case ColumnKind::category:
    case ColumnKind::ordinal:
      return {written_words("words", words)};
    case ColumnKind::yes_no:
      return words.size() == 2
                 ? std::vector<std::string>{written_words("true", {words[0]}), written_words("false", {words[1]})}
                 : std::vector<std::string>();
    case ColumnKind::date:
      return {"format=" + written_word(values.empty() ? "%Y-%m-%d" : values), "from=2000-01-01", "unit=years"};
    case ColumnKind::label:
      return words.empty()
                 ? words
                 : std::vector<std::string>{written_words(words.size() > 1 ? "classes" : "positive", words)};
    case ColumnKind::ignore:
    case ColumnKind::person:
      break;
  }
  return {};
}

/// The line of a column; a comment that says what to fill in where the dictionary does not say enough.
std::string line_of_entry(const std::vector<std::string>& fields) {
  if (fields.size() < 2 || fields[0].empty()) throw ConfigError("a line is NAME,KIND or NAME,KIND,VALUES");
  const ColumnKind kind = kind_in_dictionary(fields[1]);
  const std::string values = fields.size() > 2 ? fields[2] : "";
  const bool needs_words = kind == ColumnKind::category || kind == ColumnKind::ordinal;
  if (needs_words && values.empty())
    return fmt::format("# fill in: {} {} words=WORD,WORD,...\n", written_word(fields[0]), column_kind_name(kind));
  const std::vector<std::string> attributes = attributes_of_values(kind, values);
  ColumnLine line;  // what does not fit is said now
  read_column_line(
      fmt::format("{} {} {}", written_word(fields[0]), column_kind_name(kind), fmt::join(attributes, " ")), line);
  column_rule(line, 1);
  return written_line(fields[0], kind, attributes);
}

bool is_head_of_dictionary(const std::vector<std::string>& fields) {
  constexpr std::string_view heads[] = {"kind", "type", "Kind", "Type"};
  return fields.size() > 1 && std::ranges::find(heads, fields[1]) != std::end(heads);
}

}  // namespace

std::string columns_of_dictionary(const std::string& input, const DataOptions& data) {
  const std::string path = FoundFile(data, input).path();
  const std::string text = read_file(path, file_limit::document);
  std::string lines = fmt::format(
      "# Proposed by dpmpi inspect from the data dictionary {}. THIS FILE MUST BE PUBLIC.\n"
      "# Give numbers a mean and a std, or a range, that you know without looking at private records.\n\n",
      input);
  std::vector<std::string> problems;
  std::size_t number = 0;
  for (std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0; at < text.size();) {
    const std::size_t stop = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(std::string_view(text).substr(at, stop - at));
    at = stop + 1;
    ++number;
    if (line.empty() || line.front() == '#') continue;
    try {
      const std::vector<std::string> fields = split_fields(line, delimiter_by(data.separator, ','));
      if (number > 1 || !is_head_of_dictionary(fields)) lines += line_of_entry(fields);
    } catch (const std::runtime_error& problem) {
      problems.push_back(fmt::format("{}:{}: {}", path, number, problem.what()));
    }
  }
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
  return lines;
}

}  // namespace dpmpi
