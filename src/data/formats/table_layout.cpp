// How the columns of a table become features: header, label, vocabularies, dropped columns.

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/formats/table.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

using Use = TableColumn::Use;

struct FirstLines {
  std::vector<std::string_view> records;  // the first one or two (one of them perhaps the header)
  std::vector<std::uint64_t> after;       // byte behind each
  std::vector<std::uint64_t> line_after;  // number of the line behind each
  std::uint64_t begin = 0, line = 1;      // behind skipped lines and byte order mark
};

FirstLines first_lines(std::string_view head, const DataOptions& options, char comment) {
  FirstLines f;
  std::size_t at = head.starts_with("\xef\xbb\xbf") ? 3 : 0;
  f.begin = at;
  for (std::uint64_t line = 1; at < head.size() && f.records.size() < 2; ++line) {
    const std::size_t stop = std::min(head.find('\n', at), head.size());
    const std::string_view text = head.substr(at, stop - at);
    at = std::min(stop + 1, head.size());
    if (line <= static_cast<std::uint64_t>(options.skip_lines)) {
      f.begin = at;
      f.line = line + 1;
    } else if (is_record(text, comment)) {
      f.records.push_back(text);
      f.after.push_back(at);
      f.line_after.push_back(line + 1);
    }
  }
  return f;
}

bool has_number(const std::vector<std::string>& fields) {
  double x = 0;
  return std::any_of(fields.begin(), fields.end(), [&](const auto& f) { return to_number(f, x); });
}

std::vector<std::string> fields_of(const FirstLines& first, std::size_t i, char delimiter,
                                   const std::string& file) {
  try {
    return split_fields(first.records[i], delimiter);
  } catch (const Malformed& problem) {
    throw DataError(fmt::format("{}:{}: {}", file, first.line_after[i] - 1, problem.what()));
  }
}

bool starts_with_header(const FirstLines& first, const std::string& setting, char delimiter,
                        const std::string& file) {
  if (setting != "auto") return setting == "yes";
  return first.records.size() == 2 && !has_number(fields_of(first, 0, delimiter, file)) &&
         has_number(fields_of(first, 1, delimiter, file));
}

/// Position of the column called `name`, else number `name` (from 1). Throws ConfigError.
std::size_t find_column(const std::vector<TableColumn>& columns, const std::string& name, const std::string& key) {
  const auto named = std::find_if(columns.begin(), columns.end(), [&](const auto& c) { return c.name == name; });
  if (named != columns.end()) return static_cast<std::size_t>(named - columns.begin());
  double number = 0;
  if (to_number(name, number) && number >= 1 && number <= static_cast<double>(columns.size()) &&
      number == static_cast<double>(static_cast<std::size_t>(number)))
    return static_cast<std::size_t>(number) - 1;
  std::vector<std::string> names;
  for (const auto& c : columns) names.push_back(c.name);
  const std::string near = nearest_name(name, names);
  constexpr std::size_t shown = 30;
  if (names.size() > shown) names.resize(shown), names.emplace_back("...");
  throw ConfigError(fmt::format("{}: there is no column {}{}; columns are {} (or 1 to {})", key, show(name),
                                near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                                fmt::join(names, ", "), columns.size()));
}

std::size_t find_label(const std::vector<TableColumn>& columns, const std::string& label) {
  if (label == "first") return 0;
  if (label == "last") return columns.size() - 1;
  if (label != "auto") return find_column(columns, label, "data.label");
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (names_label(columns[c].name)) return c;
  throw ConfigError(
      "data.label must be set for this table (first, last, a column name, or a column number from 1): no "
      "column is called label, target, class or y");
}

void set_use(TableColumn& column, Use use, const std::string& key) {
  if (column.use != Use::number)
    throw ConfigError(
        fmt::format("{}: column {} already has another use (label, one_hot or drop)", key, show(column.name)));
  column.use = use;
}

void assign_uses(std::vector<TableColumn>& columns, const DataOptions& options) {
  if (options.label != no_label) columns[find_label(columns, options.label)].use = Use::label;
  for (const auto& entry : options.one_hot) {
    const std::size_t colon = entry.find(':');
    if (colon == std::string::npos || colon == 0)
      throw ConfigError(fmt::format("data.one_hot = {}: entries are written column:word|word|...", entry));
    const std::string name(trim(std::string_view(entry).substr(0, colon)));
    TableColumn& column = columns[find_column(columns, name, "data.one_hot")];
    set_use(column, Use::one_hot, "data.one_hot");
    column.words = split_words(entry.substr(colon + 1));
  }
  for (const auto& name : options.drop)
    set_use(columns[find_column(columns, name, "data.drop")], Use::drop, "data.drop");
}

std::size_t number_features(std::vector<TableColumn>& columns) {
  std::size_t next = 0;
  for (TableColumn& column : columns) {
    column.feature = next;
    if (column.use == Use::number) next += 1;
    if (column.use == Use::one_hot) next += column.words.size();
  }
  if (next == 0) throw ConfigError("the table has no feature column: data.label and data.drop leave nothing");
  return next;
}

/// What a first line that was not understood looks like, for messages; "" if nothing is odd about it.
std::string oddity(std::string_view line, char delimiter) {
  const std::string_view text = trim(line);
  if (line.find('\0') != line.npos) return "; it holds zero bytes: UTF-8 text is expected (not UTF-16)";
  if (text.find('\r') != text.npos) return "; it holds carriage returns: lines must end with a line feed";
  for (const char other : {';', '\t', ','})
    if (text.find(delimiter) == text.npos && text.find(other) != text.npos)
      return fmt::format("; it holds {} where fields are separated by {}", show({&other, 1}),
                         show({&delimiter, 1}));
  return "";
}

/// The only line of a file, if no field is a number: a header, unless words or missing fields can be features.
bool is_lone_header(const std::vector<std::string>& fields, const DataOptions& options) {
  return options.header == "yes" ||
         (options.header == "auto" && !has_number(fields) && options.one_hot.empty() && options.missing.empty());
}

char comment_of(const DataOptions& options) { return options.comment.empty() ? '\0' : options.comment[0]; }

}  // namespace

bool names_label(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char x) { return static_cast<char>(std::tolower(static_cast<unsigned char>(x))); });
  return name == "label" || name == "target" || name == "class" || name == "y";
}

std::vector<std::string> supposed_names(std::string_view head, const DataOptions& options, char delimiter,
                                        const std::string& file) {
  const FirstLines first = first_lines(head, options, comment_of(options));
  if (options.header != "auto" || !starts_with_header(first, options.header, delimiter, file)) return {};
  return fields_of(first, 0, delimiter, file);
}

TableLayout table_layout(std::string_view head, const DataOptions& options, char delimiter,
                         const std::string& file) {
  TableLayout layout;
  TableSchema& schema = layout.schema;
  schema.delimiter = delimiter;
  schema.comment = comment_of(options);
  schema.zero_if_unknown = options.unknown == "zero";
  schema.fill_missing = !options.missing.empty();
  if (schema.fill_missing) schema.missing = option_number(options.missing, "data.missing");
  const FirstLines first = first_lines(head, options, schema.comment);
  if (first.records.empty()) throw DataError(fmt::format("{}: holds no records", file));
  const bool header = starts_with_header(first, options.header, delimiter, file);
  const auto fields = fields_of(first, 0, delimiter, file);
  const std::string odd = oddity(first.records[0], delimiter);
  if (first.records.size() == 1 && is_lone_header(fields, options))
    throw DataError(fmt::format("{}: holds no records: its only line {} is taken as the header (data.header){}",
                                file, show_field(first.records[0]), odd));
  for (std::size_t c = 0; c < fields.size(); ++c)
    schema.columns.push_back({.name = header ? fields[c] : std::to_string(c + 1)});
  layout.begin = header ? first.after[0] : first.begin;
  layout.line = header ? first.line_after[0] : first.line;
  try {
    assign_uses(schema.columns, options);
    schema.features = number_features(schema.columns);
  } catch (const ConfigError& problem) {
    // Without a header, the first line is a private record.
    throw ConfigError(fmt::format("{}: {}\n  {} columns were found in the first line, {}{}", file, problem.what(),
                                  fields.size(), header ? show(first.records[0]) : show_field(first.records[0]),
                                  odd));
  }
  return layout;
}

std::size_t TableSchema::feature_of(const std::string& column) const {
  const TableColumn& c = columns[find_column(columns, column, "data.mean or data.std")];
  if (c.use != Use::number)
    throw ConfigError(fmt::format("data.mean or data.std: column {} is not a number column", show(column)));
  return c.feature;
}

std::string TableSchema::signature() const {
  std::string text;
  for (const auto& c : columns) text += fmt::format("{}:{};", c.name, static_cast<int>(c.use));
  return text;
}

}  // namespace dpmpi
