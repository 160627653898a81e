// What the first lines of a table tell: whether it has a header, its columns, and where the records begin.

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/columns/columns_file.hpp"
#include "data/formats/table.hpp"
#include "data/formats/text_lines.hpp"

namespace dpmpi {
namespace {

struct Line {
  std::string_view text;
  std::uint64_t number = 0, next = 0, end = 0;  // next: number of the line behind it; end: byte
};

struct FirstLines {
  std::vector<Line> records;          // the first one or two (one of them perhaps the header)
  std::uint64_t begin = 0, line = 1;  // behind skipped lines and byte order mark
};

FirstLines first_lines(std::string_view head, const ReadingRules& options, char comment, char delimiter) {
  FirstLines f;
  std::size_t at = head.starts_with("\xef\xbb\xbf") ? 3 : 0;
  f.begin = at;
  for (std::uint64_t line = 1, lines = 1; at < head.size() && f.records.size() < 2; line += lines) {
    const std::size_t from = at;
    std::size_t stop = std::min(head.find('\n', at), head.size());
    const bool skipped = line <= static_cast<std::uint64_t>(options.skip_lines);
    const bool record = !skipped && is_record(head.substr(from, stop - from), comment);
    lines = 1;
    if (record) stop = end_of_record(head, from, stop, delimiter, lines);
    at = std::min(stop + 1, head.size());
    if (skipped) f.begin = at, f.line = line + 1;
    if (record) f.records.push_back({head.substr(from, stop - from), line, line + lines, at});
  }
  return f;
}

bool has_number(const std::vector<std::string>& fields, const ReadingRules& options) {
  double x = 0;
  return std::any_of(fields.begin(), fields.end(),
                     [&](const auto& f) { return to_number(f, options.decimal == "comma", x); });
}

std::vector<std::string> fields_of(const Line& line, char delimiter, const std::string& file) {
  try {
    return split_fields(line.text, delimiter);
  } catch (const Malformed& problem) {
    throw DataError(fmt::format("{}:{}: {}", file, line.number + lines_before_open_quote(line.text, delimiter),
                                problem.what()));
  }
}

/// The same as names, in which line ends are blanks.
std::vector<std::string> names_of(const Line& line, char delimiter, const std::string& file) {
  std::vector<std::string> names = fields_of(line, delimiter, file);
  for (std::string& name : names) {
    std::erase(name, '\r');
    std::ranges::replace(name, '\n', ' ');
  }
  return names;
}

/// Whether a first line is the names of the columns file, in any order. One that has some of them and something
/// else may be a record, and is not shown.
bool holds_names(std::vector<std::string> fields, const ReadingRules& options, const std::string& file) {
  const ColumnsFile& columns = *options.columns_file;
  const auto is_name = [&](const std::string& field) { return columns.find(field) != nullptr; };
  if (std::ranges::none_of(fields, is_name)) return false;
  std::ranges::sort(fields);
  const bool different = std::ranges::adjacent_find(fields) == fields.end();
  const bool all_there = std::ranges::all_of(columns.columns, [&](const ColumnRule& rule) {
    return std::ranges::binary_search(fields, rule.name) || may_lack(rule, options);
  });
  if (different && all_there && (options.more_columns || std::ranges::all_of(fields, is_name))) return true;
  throw ConfigError(fmt::format(
      "{}: its first line has some of the names of {}, but is not these names: set data.header = yes if it "
      "names the columns, and no if it is a record",
      file, columns.path));
}

bool starts_with_header(const FirstLines& first, const ReadingRules& options, char delimiter,
                        const std::string& file) {
  if (options.header != "auto") return options.header == "yes";
  if (options.columns_file) return holds_names(names_of(first.records[0], delimiter, file), options, file);
  return first.records.size() == 2 && !has_number(fields_of(first.records[0], delimiter, file), options) &&
         has_number(fields_of(first.records[1], delimiter, file), options);
}

/// What a first line that was not understood looks like, for messages; "" if nothing is odd about it.
std::string oddity(std::string_view line, char delimiter) {
  const std::string_view text = trim(line);
  if (text.find('\r') != text.npos) return "; it holds carriage returns: lines must end with a line feed";
  for (const char other : {';', '\t', ',', '|'})
    if (text.find(delimiter) == text.npos && text.find(other) != text.npos)
      return fmt::format("; it holds {} where fields are separated by {} (data.separator)", show({&other, 1}),
                         show({&delimiter, 1}));
  return "";
}

/// The only line of a file, if no field is a number: a header, unless words or missing fields can be features.
bool is_lone_header(const std::vector<std::string>& fields, const ReadingRules& options, bool header) {
  if (options.columns_file) return header;
  return options.header == "yes" || (options.header == "auto" && !has_number(fields, options) &&
                                     options.one_hot.empty() && options.missing.empty());
}

char comment_of(const ReadingRules& options) { return options.comment.empty() ? '\0' : options.comment[0]; }

}  // namespace

std::vector<std::string> Table::supposed_names(const Head& head) const {
  refuse_no_text(head);
  const FirstLines first = first_lines(head.bytes, options_, comment_of(options_), delimiter_);
  if (options_.header != "auto" || first.records.empty() ||
      !starts_with_header(first, options_, delimiter_, head.path))
    return {};
  return names_of(first.records[0], delimiter_, head.path);
}

TableHead look_at_table(const Head& head, const ReadingRules& options, char delimiter) {
  refuse_no_text(head);
  const char comment = comment_of(options);
  const FirstLines first = first_lines(head.bytes, options, comment, delimiter);
  if (first.records.empty()) refuse_file(head.path, "holds no records");
  const Line& lead = first.records[0];
  TableHead found{.header = starts_with_header(first, options, delimiter, head.path),
                  .fields = names_of(lead, delimiter, head.path),
                  .line = std::string(lead.text),
                  .oddity = oddity(lead.text, delimiter)};
  if (first.records.size() == 1 && is_lone_header(found.fields, options, found.header))
    refuse_file(head.path, fmt::format("holds no records: its only line {} is taken as the header (data.header){}",
                                       show_field(lead.text), found.oddity));
  found.records = {.begin = found.header ? lead.end : first.begin,
                   .line = found.header ? lead.next : first.line,
                   .comment = comment,
                   .delimiter = delimiter};
  return found;
}

Layout Table::inspect(const std::vector<Head>& files) {
  const TableHead head = look_at_table(files[0], options_, delimiter_);
  const bool named = head.header || options_.columns_file;
  std::vector<std::string> names = head.fields;
  for (std::size_t c = 0; !named && c < names.size(); ++c) names[c] = std::to_string(c + 1);
  try {
    if (named && !head.header) names = names_by_file(options_, names.size());
    schema_ = TableSchema(names, options_);
  } catch (const ConfigError& problem) {
    // Without a header, the first line is a private record.
    throw ConfigError(fmt::format("{}: {}\n  {} columns were found in the first line, {}{}", files[0].path,
                                  problem.what(), head.fields.size(),
                                  head.header ? show(head.line) : show_field(head.line), head.oddity));
  }
  const Storage storage = schema_.storage(options_);
  return {.storage = storage,
          .features = schema_.features,
          .row_entries = storage == Storage::sparse_f32 ? schema_.row_entries : 0,
          .sections = {head.records},
          .columns = schema_.signature(),
          .feature_names = named ? schema_.feature_names() : ""};
}

void Table::archive(Archive& archive) {
  archive_columns_file(archive, options_);
  std::string lines;  // a name has no line end
  for (const TableColumn& column : schema_.columns) lines += column.name + '\n';
  archive.field("columns", lines);
  if (!archive.reading()) return;
  std::vector<std::string> names;
  std::istringstream in(lines);
  for (std::string name; std::getline(in, name);) names.push_back(name);
  schema_ = TableSchema(names, options_);
}

}  // namespace dpmpi
