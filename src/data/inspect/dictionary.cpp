// Columns files from data dictionaries.

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

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

/// What VALUES mean for a kind: words with bars between, LOW..HIGH of a number, a weight or an exposure, the format
/// of a date.
std::vector<std::string> attributes_of_values(ColumnKind kind, const std::string& values) {
  const std::vector<std::string> words = values.empty() ? std::vector<std::string>() : split_words(values);
  switch (kind) {
    case ColumnKind::number:
    case ColumnKind::weight:
    case ColumnKind::exposure:
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

/// What a dictionary's fields are. Without a head a line has three at most; a head may name more, which are
/// remarks.
struct DictionaryHead {
  std::size_t fields = 3;
  bool has_line = false;
};

DictionaryHead head_of_dictionary(const std::vector<std::string>& first) {
  constexpr std::string_view heads[] = {"kind", "type", "Kind", "Type"};
  const bool is_head = first.size() > 1 && std::ranges::find(heads, first[1]) != std::end(heads);
  return {is_head ? std::max<std::size_t>(first.size(), 3) : 3, is_head};
}

/// What stands behind the values, as comments.
std::string remarks_of_entry(const std::vector<std::string>& fields, const DictionaryHead& head) {
  std::string remarks;
  for (std::size_t f = 3; f < fields.size(); ++f) {
    if (fields[f].empty()) continue;
    if (f >= head.fields)
      throw ConfigError(fmt::format(
          "it has {} fields where {} are expected: put a comma or quotation mark into quotation marks, and bars "
          "between words (f|m)",
          fields.size(), head.fields));
    remarks += fmt::format("# {}: {}\n", fields[0], fields[f]);
  }
  return remarks;
}

/// The line of a column; a comment that says what to fill in where the dictionary does not say enough.
std::string line_of_entry(const std::vector<std::string>& fields, ColumnKind kind) {
  const std::string values = fields.size() > 2 ? fields[2] : "";
  const bool needs_words = kind == ColumnKind::category || kind == ColumnKind::ordinal;
  if ((needs_words || is_factor(kind)) && values.empty())
    return fmt::format("# fill in: {} {} {}\n", written_word(fields[0]), column_kind_name(kind),
                       needs_words ? "words=WORD,WORD,..." : "range=LOW..HIGH");
  const std::vector<std::string> attributes = attributes_of_values(kind, values);
  ColumnLine line;  // what does not fit is said now
  read_column_line(
      fmt::format("{} {} {}", written_word(fields[0]), column_kind_name(kind), fmt::join(attributes, " ")), line);
  column_rule(line, 1);
  return written_line(fields[0], kind, attributes);
}

/// What is there once: names, a label, a column of persons, of weights and of exposures.
class SeenEntries {
 public:
  void add(const std::string& name, ColumnKind kind, std::size_t line) {
    if (const auto [at, fresh] = names_.emplace(name, line); !fresh)
      throw ConfigError(fmt::format("column {} stands in line {}, too", show(name), at->second));
    if (!stands_once(kind)) return;
    if (const auto [at, fresh] = alone_.emplace(kind, line); !fresh)
      throw ConfigError(
          fmt::format("a table has one {0}, and line {1} has a {0}, too", column_kind_name(kind), at->second));
  }

 private:
  std::map<std::string, std::size_t> names_;
  std::map<ColumnKind, std::size_t> alone_;
};

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
  std::optional<DictionaryHead> head;
  SeenEntries seen;
  for (std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0; at < text.size();) {
    const std::size_t stop = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(std::string_view(text).substr(at, stop - at));
    at = stop + 1;
    ++number;
    if (line.empty() || line.front() == '#') continue;
    try {
      const std::vector<std::string> fields = split_fields(line, delimiter_by(data.separator, ','));
      const bool is_first = !head;
      if (is_first) head = head_of_dictionary(fields);
      if (is_first && head->has_line) continue;
      if (fields.size() < 2 || fields[0].empty()) throw ConfigError("a line is NAME,KIND or NAME,KIND,VALUES");
      const ColumnKind kind = kind_in_dictionary(fields[1]);
      seen.add(fields[0], kind, number);
      lines += remarks_of_entry(fields, *head) + line_of_entry(fields, kind);
    } catch (const std::runtime_error& problem) {
      problems.push_back(fmt::format("{}:{}: {}", path, number, problem.what()));
    }
  }
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
  return lines;
}

}  // namespace dpmpi
