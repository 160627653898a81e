#include "data/inspect/inspected_hdf5.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/formats/hdf5_columns.hpp"
#include "data/formats/hdf5_rows.hpp"

namespace dpmpi {
namespace {

/// Settings that say how a text is read.
void refuse_settings_of_texts(const ReadingRules& rules) {
  const ReadingRules usual;
  std::vector<std::string> set;
  if (rules.header != usual.header) set.emplace_back("data.header");
  if (rules.separator != usual.separator) set.emplace_back("data.separator");
  if (rules.decimal != usual.decimal) set.emplace_back("data.decimal");
  if (rules.skip_lines != usual.skip_lines) set.emplace_back("data.skip_lines");
  if (rules.comment != usual.comment) set.emplace_back("data.comment");
  if (!set.empty())
    throw ConfigError(fmt::format("{}: is for tables of text, and this is an HDF5 file", fmt::join(set, ", ")));
}

/// No order of datasets says which the label is, as that of a text's columns may.
std::optional<std::size_t> place_of_label_dataset(const std::vector<std::string>& names,
                                                  const ReadingRules& rules) {
  if (rules.label == no_label) return {};
  if (rules.label != "auto") return place_of_column(names, rules.label, "data.label");
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < names.size(); ++c)
    if (names_label(names[c]) || names[c] == "labels" || names[c] == "targets") found.push_back(c);
  if (found.size() == 1) return found.front();
  throw ConfigError(
      fmt::format("--set data.label=NAME must say which column the label is (none: there is none): {} is called "
                  "label, target, class or y. The columns are {}",
                  found.empty() ? "none" : "more than one", fmt::join(names, ", ")));
}

/// How many records a table has: as many as its label, else as most columns that can be read.
std::uint64_t length_of_table(const Hdf5Columns& columns, std::optional<std::size_t> label) {
  if (label && columns.fields[*label].trouble_of_column().empty()) return columns.fields[*label].shape[0];
  std::map<std::uint64_t, std::size_t> times;
  for (const Hdf5Field& field : columns.fields)
    if (field.trouble_of_column().empty()) ++times[field.shape[0]];
  const auto most = std::ranges::max_element(times, {}, [](const auto& length) { return length.second; });
  return most == times.end() ? 0 : most->first;
}

/// For each column what hinders that it is read; empty: nothing.
std::vector<std::string> hindrances_of(const Hdf5Columns& columns, std::optional<std::size_t> label) {
  const std::uint64_t length = length_of_table(columns, label);
  std::vector<std::string> all;
  for (const Hdf5Field& field : columns.fields) {
    std::string& hindrance = all.emplace_back(field.trouble_of_column());
    if (hindrance.empty() && field.shape[0] != length)
      hindrance = fmt::format("{} values, where the table has {} records", field.shape[0], length);
  }
  return all;
}

/// Comments: what of a file is not read, and why.
std::string remarks_on(const std::vector<Hdf5Field>& all, const Hdf5Columns& columns,
                       const std::vector<std::string>& hindrances) {
  std::string text;
  for (std::size_t c = 0; c < columns.fields.size(); ++c)
    if (!hindrances[c].empty())
      text += fmt::format("# Column {} holds {}, and is not read.\n", columns.names[c], hindrances[c]);
  std::vector<std::string> with_rows;
  for (const Hdf5Field& field : all)
    if (field.has_rows()) with_rows.push_back(field.name);
  if (!with_rows.empty())
    text += fmt::format("# Datasets with rows are no columns, and are left out: {}\n", fmt::join(with_rows, ", "));
  return text;
}

/// The columns of a file that nothing hinders.
class ReadColumns {
 public:
  ReadColumns(const std::string& path, const Hdf5Columns& columns, const std::vector<std::string>& hindrances)
      : path_(path) {
    for (std::size_t c = 0; c < columns.fields.size(); ++c) {
      if (!hindrances[c].empty()) continue;
      const Hdf5Field& field = columns.fields[c];
      if (const std::string trouble = field.trouble_of_column(); !trouble.empty())
        refuse_file(path,
                    fmt::format("dataset {} holds {}, and in the file before it can be read", field.name, trouble));
      if (!fields_.empty() && field.shape[0] != fields_.front().shape[0])
        refuse_file(path, fmt::format("dataset {} holds {} records where {} holds {}", field.name, field.shape[0],
                                      fields_.front().name, fields_.front().shape[0]));
      places_.push_back(c);
      fields_.push_back(field.as_column());
      cells_.push_back(field.column_cell());
    }
  }

  std::uint64_t records() const { return fields_.empty() ? 0 : fields_.front().shape[0]; }

  /// Hands all values to the facts of their columns.
  void add_to(std::vector<ColumnFacts>& facts) const {
    if (fields_.empty()) return;
    std::uint64_t row_bytes = 0;
    for (const Hdf5Cell& cell : cells_) row_bytes += cell.bytes();
    const auto content = hdf5_rows(path_, {fields_});
    const std::uint64_t at_once = std::max<std::uint64_t>(1, (std::uint64_t{1} << 20) / row_bytes);
    std::vector<char> rows;
    for (std::uint64_t row = 0; row < records(); row += at_once) {
      rows.resize(std::min(at_once, records() - row) * row_bytes);
      content->read(row * row_bytes, rows);
      for (std::size_t at = 0; at < rows.size();) at += add_row(rows.data() + at, facts);
    }
  }

 private:
  /// Returns its bytes.
  std::size_t add_row(const char* begin, std::vector<ColumnFacts>& facts) const {
    const char* at = begin;
    std::string scratch;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      facts[places_[i]].add(cells_[i].text(at, scratch), false);
      at += cells_[i].bytes();
    }
    return static_cast<std::size_t>(at - begin);
  }

  std::string path_;
  std::vector<std::size_t> places_;
  std::vector<Hdf5Field> fields_;
  std::vector<Hdf5Cell> cells_;
};

}  // namespace

InspectedTable read_hdf5_table(const std::vector<std::string>& paths, const ReadingRules& rules) {
  refuse_settings_of_texts(rules);
  InspectedTable table;
  std::vector<std::string> hindrances;  // in the first file, and so in all
  for (const std::string& path : paths) {
    const std::vector<Hdf5Field> all = hdf5_fields(path);
    const Hdf5Columns columns = hdf5_columns(all, nullptr);
    if (columns.names.empty()) refuse_file(path, "has no dataset with one number or word for each record");
    if (table.names.empty()) {
      table.names = columns.names;
      table.label = place_of_label_dataset(table.names, rules);
      table.person = place_of_person(table.names, rules);
      hindrances = hindrances_of(columns, table.label);
      table.remarks = remarks_on(all, columns, hindrances);
      for (std::size_t c = 0; c < table.names.size(); ++c) table.columns.emplace_back(c == table.label);
    }
    if (columns.names != table.names)
      refuse_file(path, fmt::format("its columns are others than those of {}", paths.front()));
    const ReadColumns read(path, columns, hindrances);
    read.add_to(table.columns);
    table.records += read.records();
  }
  return table;
}

}  // namespace dpmpi
