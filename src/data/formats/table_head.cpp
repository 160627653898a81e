// What the first lines of a table tell: whether it has a header, its columns, and where the records begin.

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/formats/table.hpp"
#include "data/formats/text_lines.hpp"

namespace dpmpi {
namespace {

struct Line {
  std::string_view text;
  std::uint64_t number = 0, end = 0;  // end: byte behind it
};

struct FirstLines {
  std::vector<Line> records;          // the first one or two (one of them perhaps the header)
  std::uint64_t begin = 0, line = 1;  // behind skipped lines and byte order mark
};

FirstLines first_lines(std::string_view head, const ReadingRules& options, char comment) {
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
      f.records.push_back({text, line, at});
    }
  }
  return f;
}

bool has_number(const std::vector<std::string>& fields) {
  double x = 0;
  return std::any_of(fields.begin(), fields.end(), [&](const auto& f) { return to_number(f, x); });
}

std::vector<std::string> fields_of(const Line& line, char delimiter, const std::string& file) {
  try {
    return split_fields(line.text, delimiter);
  } catch (const Malformed& problem) {
    throw DataError(fmt::format("{}:{}: {}", file, line.number, problem.what()));
  }
}

bool starts_with_header(const FirstLines& first, const std::string& setting, char delimiter,
                        const std::string& file) {
  if (setting != "auto") return setting == "yes";
  return first.records.size() == 2 && !has_number(fields_of(first.records[0], delimiter, file)) &&
         has_number(fields_of(first.records[1], delimiter, file));
}

/// What a first line that was not understood looks like, for messages; "" if nothing is odd about it.
std::string oddity(std::string_view line, char delimiter) {
  const std::string_view text = trim(line);
  if (text.find('\r') != text.npos) return "; it holds carriage returns: lines must end with a line feed";
  for (const char other : {';', '\t', ','})
    if (text.find(delimiter) == text.npos && text.find(other) != text.npos)
      return fmt::format("; it holds {} where fields are separated by {}", show({&other, 1}),
                         show({&delimiter, 1}));
  return "";
}

/// The only line of a file, if no field is a number: a header, unless words or missing fields can be features.
bool is_lone_header(const std::vector<std::string>& fields, const ReadingRules& options) {
  return options.header == "yes" ||
         (options.header == "auto" && !has_number(fields) && options.one_hot.empty() && options.missing.empty());
}

char comment_of(const ReadingRules& options) { return options.comment.empty() ? '\0' : options.comment[0]; }

}  // namespace

std::vector<std::string> Table::supposed_names(const Head& head) const {
  refuse_no_text(head);
  const FirstLines first = first_lines(head.bytes, options_, comment_of(options_));
  if (options_.header != "auto" || !starts_with_header(first, options_.header, delimiter_, head.path)) return {};
  return fields_of(first.records[0], delimiter_, head.path);
}

Layout Table::inspect(const std::vector<Head>& files) {
  const Head& head = files[0];
  refuse_no_text(head);
  const char comment = comment_of(options_);
  const FirstLines first = first_lines(head.bytes, options_, comment);
  if (first.records.empty()) refuse_file(head.path, "holds no records");
  const bool header = starts_with_header(first, options_.header, delimiter_, head.path);
  const Line& lead = first.records[0];
  auto names = fields_of(lead, delimiter_, head.path);
  const std::string odd = oddity(lead.text, delimiter_);
  if (first.records.size() == 1 && is_lone_header(names, options_))
    refuse_file(head.path, fmt::format("holds no records: its only line {} is taken as the header (data.header){}",
                                       show_field(lead.text), odd));
  for (std::size_t c = 0; !header && c < names.size(); ++c) names[c] = std::to_string(c + 1);
  try {
    schema_ = TableSchema(names, options_);
  } catch (const ConfigError& problem) {
    // Without a header, the first line is a private record.
    throw ConfigError(fmt::format("{}: {}\n  {} columns were found in the first line, {}{}", head.path,
                                  problem.what(), names.size(), header ? show(lead.text) : show_field(lead.text),
                                  odd));
  }
  return {.features = schema_.features,
          .sections = {{.begin = header ? lead.end : first.begin,
                        .line = header ? lead.number + 1 : first.line,
                        .comment = comment}},
          .columns = schema_.signature(),
          .feature_names = header ? schema_.feature_names() : ""};
}

void Table::archive(Archive& archive) {
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
