#include "data/formats/table_fields.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/formats/joined_tables.hpp"
#include "data/formats/table.hpp"
#include "data/formats/text_lines.hpp"

namespace dpmpi {
namespace {

std::string csv_field(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == field.npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::vector<std::size_t> places_of(const std::vector<std::string>& names, const std::vector<std::string>& columns) {
  std::vector<std::size_t> places;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(columns, name);
    if (found == columns.end()) {
      std::vector<std::string> written;
      std::ranges::transform(columns, std::back_inserter(written), csv_field);
      throw ConfigError(
          fmt::format("--keep: there is no column {}; columns are {}", show(name), fmt::join(written, ", ")));
    }
    places.push_back(static_cast<std::size_t>(found - columns.begin()));
  }
  return places;
}

std::string joined(const std::vector<std::string>& fields, const std::vector<std::size_t>& places) {
  std::string text;
  for (const std::size_t place : places) text += csv_field(place < fields.size() ? fields[place] : "") + ',';
  return text;
}

}  // namespace

std::vector<std::string> fields_of_table(const std::string& path, const std::vector<std::string>& paths,
                                         const ReadingRules& rules, const std::vector<std::string>& names) {
  const auto [file, head] = open_joined(path, paths, rules);
  const std::string_view format = detect_format(rules, head);
  if (format != "csv" && format != "tsv")
    throw ConfigError(fmt::format("--keep takes columns of a table (csv, tsv); {} is read as {}", path, format));
  const char delimiter = delimiter_by(rules.separator, format == "csv" ? ',' : '\t');
  const TableHead table = look_at_table(head, rules, delimiter);
  if (!table.header) throw ConfigError(fmt::format("--keep names columns, and {} has no header", path));
  const std::vector<std::size_t> places = places_of(names, table.fields);
  std::vector<std::string> rows{joined(table.fields, places)};
  for_each_record_of(*file, table.records, [&](const Position&, std::string_view line) {
    rows.push_back(joined(split_fields(line, delimiter), places));
  });
  return rows;
}

}  // namespace dpmpi
