#include "data/inspect/propose.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/formats/table.hpp"
#include "data/formats/text_lines.hpp"
#include "data/inspect/column_facts.hpp"
#include "data/inspect/proposed_line.hpp"
#include "data/load/data_files.hpp"

namespace dpmpi {
namespace {

struct Separator {
  char character;
  std::string_view name;
};
constexpr std::array<Separator, 4> separators{{{',', "comma"}, {'\t', "tab"}, {';', "semicolon"}, {'|', "bar"}}};

std::string_view first_record(std::string_view text, const ReadingRules& rules) {
  const char begins_comment = rules.comment.empty() ? '\0' : rules.comment[0];
  std::int64_t number = 0;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t stop = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, stop - at);
    if (number >= rules.skip_lines && is_record(line, begins_comment)) return line;
    at = stop + 1;
  }
  return {};
}

/// The separator that stands most often in the first line.
std::string guessed_separator(const Head& head, const ReadingRules& rules) {
  if (rules.separator != "auto") return rules.separator;
  const std::string_view line = first_record(head.bytes, rules);
  const auto times = [&](const Separator& s) { return std::ranges::count(line, s.character); };
  return std::string(std::ranges::max_element(separators, {}, times)->name);
}

/// Whether one field of the text has a decimal comma, and none has a decimal point.
bool has_decimal_commas(std::string_view text, char delimiter) {
  if (delimiter == ',') return false;
  bool found = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t stop = std::min(text.find_first_of(std::string("\n\"") + delimiter, at), text.size());
    const std::string_view field = trim(text.substr(at, stop - at));
    double x = 0;
    if (field.find('.') != field.npos && to_number(field, x)) return false;
    found = found || (field.find(',') != field.npos && to_number(field, true, x));
    at = stop + 1;
  }
  return found;
}

struct InspectedTable {
  TableHead head;
  std::vector<std::string> names;
  std::vector<ColumnFacts> columns;
  std::size_t records = 0;
  std::optional<std::size_t> label, person;  // their places
};

/// The place of the label: of the column that data.label names, else of one that is called so, else the last. None
/// if the records have none. Throws ConfigError.
std::optional<std::size_t> place_of_label(const std::vector<std::string>& names, const ReadingRules& rules) {
  if (rules.label == no_label) return {};
  if (rules.label == "first") return 0;
  if (rules.label == "last") return names.size() - 1;
  const auto found = std::ranges::find_if(
      names, [&](const auto& name) { return rules.label == "auto" ? names_label(name) : name == rules.label; });
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  if (rules.label != "auto")
    throw ConfigError(fmt::format("data.label: there is no column {}; columns are {}", show(rules.label),
                                  fmt::join(names, ", ")));
  const bool last_is_person = names.size() > 1 && names_a_person(names.back()) && rules.person.empty();
  return names.size() - (last_is_person ? 2 : 1);
}

/// The same of the column that says whose a record is, if there is one.
std::optional<std::size_t> place_of_person(const std::vector<std::string>& names, const ReadingRules& rules) {
  const auto found = std::ranges::find_if(
      names, [&](const auto& name) { return rules.person.empty() ? names_a_person(name) : name == rules.person; });
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  if (!rules.person.empty())
    throw ConfigError(fmt::format("data.person: there is no column {}; columns are {}", show(rules.person),
                                  fmt::join(names, ", ")));
  return {};
}

/// Names that no columns file could have.
void check_names(const InspectedTable& table, const std::string& file) {
  std::vector<std::string> problems;
  for (auto name = table.names.begin(); name != table.names.end(); ++name) {
    if (name->empty()) problems.push_back(fmt::format("column {} has no name", name - table.names.begin() + 1));
    if (!name->empty() && std::find(table.names.begin(), name, *name) != name)
      problems.push_back(fmt::format("two columns are called {}", show(*name)));
  }
  if (!problems.empty())
    refuse_file(file, fmt::format("{}: give every column a name of its own", fmt::join(problems, ", ")));
}

InspectedTable read_table(InputFile& file, const Head& head, const ReadingRules& rules, char delimiter) {
  InspectedTable table;
  table.head = look_at_table(head, rules, delimiter);
  table.names = table.head.fields;
  for (std::size_t c = 0; !table.head.header && c < table.names.size(); ++c)
    table.names[c] = fmt::format("column{}", c + 1);
  check_names(table, head.path);
  table.label = place_of_label(table.names, rules);
  table.person = place_of_person(table.names, rules);
  for (std::size_t c = 0; c < table.names.size(); ++c) table.columns.emplace_back(c == table.label);
  std::uint64_t line = table.head.records.line;
  const std::uint64_t begin = table.head.records.begin;
  for_each_line(file, begin, begin, std::numeric_limits<std::uint64_t>::max(),
                [&](std::uint64_t, std::string_view text) {
                  const std::uint64_t number = line++;
                  if (!is_record(text, table.head.records.comment)) return;
                  std::vector<std::string> fields;
                  try {
                    fields = split_fields(text, delimiter);
                  } catch (const Malformed& problem) {
                    refuse_file(head.path, fmt::format("line {}: {}", number, problem.what()));
                  }
                  if (fields.size() != table.columns.size())
                    refuse_file(head.path, fmt::format("line {} has {} columns where {} are expected", number,
                                                       fields.size(), table.columns.size()));
                  for (std::size_t c = 0; c < fields.size(); ++c)
                    table.columns[c].add(fields[c], rules.decimal == "comma");
                  ++table.records;
                });
  return table;
}

std::string warning_lines(const std::string& file, std::size_t records) {
  return fmt::format(
      "# Proposed by dpmpi inspect from {} ({} records).\n"
      "#\n"
      "# THIS FILE MUST BE PUBLIC, AND SO MUST BE THE TABLE THAT IT WAS MADE FROM.\n"
      "# The words, ranges, centres and scales below are statistics of that table. Nothing protects them.\n"
      "# If the table holds private records, throw this file away: write it by hand, or use a data dictionary\n"
      "# (dpmpi inspect --from-names).\n"
      "#\n"
      "# Read every line before you train, and give words that have an order the kind ordinal.\n",
      file, records);
}

std::string settings_line(const ReadingRules& rules, const std::string& separator, bool header) {
  std::string text = fmt::format("# In the config: data.header = {}", header ? "yes" : "no");
  if (separator != "comma") text += fmt::format(", data.separator = {}", separator);
  if (rules.decimal == "comma") text += ", data.decimal = comma";
  return text + '\n';
}

}  // namespace

std::string propose_columns(const std::string& input, const DataOptions& data) {
  InputFile file(FoundFile(data, input).path());
  const Head head = read_head(file, data);
  refuse_no_text(head);
  ReadingRules rules = data;
  const std::string separator = guessed_separator(head, rules);
  const char delimiter = delimiter_by(separator, ',');
  if (has_decimal_commas(head.bytes, delimiter)) rules.decimal = "comma";
  const InspectedTable table = read_table(file, head, rules, delimiter);
  if (table.records == 0) refuse_file(head.path, "holds no records");

  const auto& label = table.label;
  std::string text = warning_lines(input, table.records) + settings_line(rules, separator, table.head.header);
  const bool words_only =
      std::ranges::none_of(table.columns, [](const ColumnFacts& facts) { return facts.is_numeric(); });
  if (!table.head.header && words_only)
    text += "# The first line was taken for a record: if it has the names, say --set data.header=yes.\n";
  if (rules.label == "auto" && !names_label(table.names[*label]))
    text += "# No column is called label, target, class or y: the last one is taken for the label.\n";
  text += "\n";
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    text += c == table.person && c != label ? person_line(table.names[c])
                                            : proposed_line(table.names[c], table.columns[c], c == label);
  return text;
}

}  // namespace dpmpi
