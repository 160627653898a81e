#include "data/load/convert_table.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/formats/hdf5_table_write.hpp"
#include "data/formats/joined_tables.hpp"
#include "data/formats/table.hpp"
#include "data/formats/text_lines.hpp"
#include "data/formats/write.hpp"
#include "data/load/data_files.hpp"

namespace dpmpi {
namespace {

/// What a column of a text becomes, which is known when all of its fields were looked at.
class ConvertedColumn {
 public:
  ConvertedColumn(std::string name, const ColumnsFile* file, bool decimal_comma)
      : written_{std::move(name)}, decimal_comma_(decimal_comma) {
    const ColumnRule* const rule = file != nullptr ? file->find(written_.name) : nullptr;
    if (rule == nullptr) return;
    is_label_ = rule->kind == ColumnKind::label;
    if (rule->kind != ColumnKind::number && !is_factor(rule->kind)) return;
    const ColumnCode code(*rule, file->place(*rule), decimal_comma);
    if (code.takes_numbers()) numbers_ = rule;
  }

  void look_at(const std::string& field) {
    if (field.find('\0') != field.npos)
      throw Malformed(fmt::format("column {}: a text with a zero byte has no place in HDF5", show(written_.name)));
    written_.longest = std::max(written_.longest, field.size());
    if (!written_.is_text) written_.is_text = !number(field);
  }

  const NewHdf5Column& written() const { return written_; }

  void put(const std::string& field, std::size_t column, NewHdf5Table& table) const {
    if (written_.is_text)
      table.put(column, std::string_view(with_point(field)));
    else
      table.put(column, *number(field));
  }

 private:
  /// The number that is read back as this field, or means the same; NaN is read as the empty field.
  std::optional<double> number(const std::string& field) const {
    constexpr double gap = std::numeric_limits<double>::quiet_NaN();
    double x = 0;
    if (field.empty()) return gap;
    if (numbers_ != nullptr && to_number(field, decimal_comma_, x)) return x;
    if (numbers_ != nullptr && numbers_->is_missing_word(field) && numbers_->is_missing_word("")) return gap;
    const std::string text = with_point(field);
    if (to_number(text, x) && fmt::format("{}", x) == text) return x;
    return {};
  }

  /// Labels with a decimal comma count as those with a point.
  std::string with_point(std::string field) const {
    double x = 0;
    if (is_label_ && decimal_comma_ && to_number(field, true, x)) std::ranges::replace(field, ',', '.');
    return field;
  }

  NewHdf5Column written_;
  bool decimal_comma_, is_label_ = false;
  const ColumnRule* numbers_ = nullptr;  // its line, if every finite number is a value by it
};

void check_settings(const std::string& output, const DataOptions& data) {
  if (!names_hdf5(output))
    throw ConfigError(
        fmt::format("{}: --as table writes HDF5: give an output whose name ends in .h5 or .hdf5", output));
  const std::pair<bool, std::string_view> beside[] = {{!data.one_hot.empty(), "data.one_hot"},
                                                      {!data.drop.empty(), "data.drop"},
                                                      {!data.missing.empty(), "data.missing"},
                                                      {!data.datasets.empty(), "data.datasets"},
                                                      {!data.positive.empty(), "data.positive"}};
  for (const auto& [stands, key] : beside)
    if (stands) throw ConfigError(fmt::format("--as table writes all columns as they are: leave {} out", key));
  if (data.decimal == "comma" && data.columns_file == nullptr)
    throw ConfigError(
        "data.decimal = comma: --as table needs data.columns, which says what columns have numbers with commas");
}

/// Names of datasets.
std::vector<std::string> dataset_names(const TableHead& head, const DataOptions& data, const std::string& path) {
  std::vector<std::string> names = head.fields;
  if (!head.header) {
    if (data.columns_file == nullptr)
      throw ConfigError(fmt::format(
          "{}: --as table names datasets like columns, and there is no line with names: set data.columns", path));
    names = names_by_file(data, names.size());
  }
  std::vector<std::string> problems;
  std::set<std::string_view> seen;
  for (std::size_t c = 0; c < names.size(); ++c)
    if (const std::string& name = names[c]; name.empty() || name == "." || name.find('/') != name.npos)
      problems.push_back(
          fmt::format("the name of column {} cannot be that of a dataset (it is empty, or has a /)", c + 1));
    else if (!seen.insert(name).second)
      problems.push_back(fmt::format("columns are called alike: {} is the second", c + 1));
  if (!problems.empty()) refuse_file(path, fmt::format("{}", fmt::join(problems, ", ")));
  if (data.columns_file) TableSchema(names, data);  // finds what does not fit
  return names;
}

/// A table of text that is read from its beginning as often as it is asked.
class TextTable {
 public:
  TextTable(const std::string& input, const std::vector<std::string>& paths, const DataOptions& data)
      : opened_(open_joined(input, paths, data)) {
    const std::string_view format = detect_format(data, opened_.head);
    if (format != "csv" && format != "tsv")
      throw ConfigError(fmt::format("--as table takes tables of text (csv, tsv), and {} is read as {}",
                                    opened_.head.path, format));
    delimiter_ = delimiter_by(data.separator, format == "csv" ? ',' : '\t');
    head_ = look_at_table(opened_.head, data, delimiter_);
  }

  const TableHead& head() const { return head_; }
  const std::string& path() const { return opened_.head.path; }

  /// Calls visit(fields) for each record. Throws DataError that names the line, and no value.
  template <class Visit>
  void for_each_row(Visit&& visit) const {
    for_each_record_of(*opened_.file, head_.records, [&](const Position& at, std::string_view text) {
      try {
        const std::vector<std::string> fields = split_fields(text, delimiter_);
        if (fields.size() != head_.fields.size())
          throw Malformed(fmt::format("{} columns where {} are expected", fields.size(), head_.fields.size()));
        visit(fields);
      } catch (const Malformed& problem) {
        refuse_file(at.file, fmt::format("line {}: {}", at.line_in_file(), problem.what()));
      }
    });
  }

 private:
  OpenedFile opened_;
  char delimiter_ = ',';
  TableHead head_;
};

}  // namespace

std::uint64_t convert_table(const std::string& input, const std::string& output, const DataOptions& data) {
  check_settings(output, data);
  std::vector<std::string> paths;
  for (const FoundFile& file : NamedFiles(data, input).files) paths.push_back(file.path());
  keep_files(paths, output);
  const TextTable table(input, paths, data);
  std::vector<ConvertedColumn> columns;
  for (const std::string& name : dataset_names(table.head(), data, table.path()))
    columns.emplace_back(name, data.columns_file.get(), data.decimal == "comma");
  std::uint64_t records = 0;
  table.for_each_row([&](const std::vector<std::string>& fields) {
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c].look_at(fields[c]);
    ++records;
  });
  write_by_library(output, [&](const std::string& path) {
    std::vector<NewHdf5Column> written;
    for (const ConvertedColumn& column : columns) written.push_back(column.written());
    NewHdf5Table file(path, written, records);
    table.for_each_row([&](const std::vector<std::string>& fields) {
      for (std::size_t c = 0; c < columns.size(); ++c) columns[c].put(fields[c], c, file);
      file.end_record();
    });
    file.finish();
  });
  return records;
}

}  // namespace dpmpi
