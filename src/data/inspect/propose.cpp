#include "data/inspect/propose.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/columns/columns_file.hpp"
#include "data/formats/joined_tables.hpp"
#include "data/formats/table.hpp"
#include "data/formats/text_lines.hpp"
#include "data/inspect/inspected_hdf5.hpp"
#include "data/inspect/inspected_table.hpp"
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

/// What the config has to say of the table. `by_itself`: the separator that is expected of its format.
std::string settings_line(const ReadingRules& rules, const std::string& separator, std::string_view by_itself,
                          bool header) {
  std::string text = fmt::format("# In the config: data.header = {}", header ? "yes" : "no");
  if (separator != by_itself) text += fmt::format(", data.separator = {}", separator);
  if (rules.decimal == "comma") text += ", data.decimal = comma";
  if (rules.skip_lines > 0) text += fmt::format(", data.skip_lines = {}", rules.skip_lines);
  if (!rules.comment.empty()) text += fmt::format(", data.comment = {}", rules.comment);
  return text + '\n';
}

/// Throws DataError if the file is no text.
void refuse_no_table(const Head& head) {
  if (const std::string_view format = format_by_magic(head.bytes); !format.empty())
    refuse_file(
        head.path,
        fmt::format("is of the format {}: inspect proposes columns files for tables of text and of HDF5, and "
                    "other files hold features as they are",
                    format));
  refuse_no_text(head);
}

/// What data.separator = auto reads the table with; empty: it would not be read as a table.
std::string_view expected_separator(const Head& head, const ReadingRules& rules) try {
  const std::string_view format = detect_format(rules, head);
  return format == "csv" ? "comma" : format == "tsv" ? "tab" : "";
} catch (const DataError&) {
  return "";
}

std::string remarks_on_header(const InspectedTable& table, const ReadingRules& rules) {
  if (table.guessed_header)
    return "# The first line was taken for the names of the columns: if it is a record, say --set data.header=no.\n";
  const bool words_only =
      std::ranges::none_of(table.columns, [](const ColumnFacts& facts) { return facts.is_numeric(); });
  if (!table.head.header && rules.header == "auto" && words_only)
    return "# The first line was taken for a record: if it has the names, say --set data.header=yes.\n";
  return "";
}

std::string proposed_lines(const InspectedTable& table, const std::string& path) {
  std::string text;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const std::string& name = table.names[c];
    try {
      if (c == table.person && c != table.label) {
        text += person_line(name);
        continue;
      }
      if (c != table.label) text += hint_by_name(name);
      text += proposed_line(name, table.columns[c], c == table.label);
    } catch (const Malformed& problem) {
      refuse_file(path, problem.what());
    }
  }
  return text;
}

/// Throws DataError if no columns file says what this table is.
void check_proposal(const std::string& lines, const std::string& path) {
  try {
    ColumnsFile(lines, "the proposal");
  } catch (const ConfigError& problem) {
    refuse_file(path, fmt::format("no columns file can be proposed: {}", problem.what()));
  }
}

/// The proposal, behind what `settings` say of the config.
std::string proposal(const std::string& input, const InspectedTable& table, const std::string& path,
                     const std::string& settings) {
  if (table.records == 0) refuse_file(path, "holds no records");
  const std::string lines = proposed_lines(table, path);
  check_proposal(lines, path);
  return warning_lines(input, table.records) + settings + table.remarks + "\n" + lines;
}

std::string proposal_for_text(const std::string& input, const std::vector<std::string>& paths, const Head& head,
                              const DataOptions& data) {
  ReadingRules rules = data;
  const std::string separator = guessed_separator(head, rules);
  const char delimiter = delimiter_by(separator, ',');
  if (has_decimal_commas(head.bytes, delimiter)) rules.decimal = "comma";
  rules.separator = separator;
  const InspectedTable table = read_table(input, paths, rules, delimiter);
  std::string settings = settings_line(rules, separator, expected_separator(head, data), table.head.header) +
                         remarks_on_header(table, rules);
  if (rules.label == "auto" && !names_label(table.names[*table.label]))
    settings += "# No column is called label, target, class or y: the last one is taken for the label.\n";
  return proposal(input, table, head.path, settings);
}

}  // namespace

std::string propose_columns(const std::string& input, const DataOptions& data) {
  std::vector<std::string> paths;
  for (const FoundFile& file : NamedFiles(data, input).files) paths.push_back(file.path());
  const Head head = open_joined(input, {paths.front()}, data).head;
  if (format_by_magic(head.bytes) == "hdf5") return proposal(input, read_hdf5_table(paths, data), head.path, "");
  refuse_no_table(head);
  return proposal_for_text(input, paths, head, data);
}

}  // namespace dpmpi
