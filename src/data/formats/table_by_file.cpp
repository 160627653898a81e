// How the lines of data.columns meet the columns of a table.

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/formats/table.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

/// Names for a message, which not all of thousands would make clearer.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 100;
  const std::size_t count = std::min(most, names.size());
  const std::string more = names.size() > most ? fmt::format(" and {} more", names.size() - most) : "";
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count), ", "),
                     more);
}

/// Throws ConfigError with the names that one side has and the other lacks.
void check_names(const std::vector<std::string>& names, const ColumnsFile& file, const ReadingRules& options) {
  std::vector<std::string> not_here, not_there, twice, problems;
  std::string hint;
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    const bool known = file.find(name) != nullptr, used = known || !options.more_columns;
    if (!seen.insert(name).second && used) twice.push_back(show(name));
    if (!known && used) not_there.push_back(show(name));
  }
  for (const ColumnRule& rule : file.columns)
    if (!seen.contains(rule.name) && !may_lack(rule, options)) {
      not_here.push_back(fmt::format("{} (line {})", show(rule.name), rule.line));
      if (rule.kind == ColumnKind::label && options.more_columns)  // a table that a model is used on
        hint = " (records to predict need no labels: --set data.label=none)";
    }
  if (!not_here.empty())
    problems.push_back(
        fmt::format("columns of {} that the table has not: {}{}", file.path, some_of(not_here), hint));
  if (!not_there.empty())
    problems.push_back(
        fmt::format("columns of the table that {} does not name: {} (the kind ignore leaves one out)", file.path,
                    some_of(not_there)));
  if (!twice.empty()) problems.push_back(fmt::format("columns that the table has twice: {}", some_of(twice)));
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
}

TableColumn::Use use_by_rule(const ColumnRule& rule, const ReadingRules& options) {
  using Use = TableColumn::Use;
  const bool labelled = options.label != no_label;
  switch (rule.kind) {
    case ColumnKind::ignore:
      return Use::drop;
    case ColumnKind::label:
      return labelled ? Use::label : Use::drop;
    case ColumnKind::weight:
      return labelled ? Use::weight : Use::drop;
    case ColumnKind::exposure:
      return Use::exposure;
    case ColumnKind::person:
      return options.persons != ReadingRules::Persons::nothing ? Use::person : Use::drop;
    default:
      return Use::coded;
  }
}

/// The column's use, but for its place among the features.
void set_by_rule(TableColumn& column, const ColumnsFile& file, const ColumnRule& rule,
                 const ReadingRules& options) {
  using Use = TableColumn::Use;
  column.use = use_by_rule(rule, options);
  if (column.use == Use::person && rule.missing) column.nobody = *rule.missing;
  if (column.use == Use::coded || column.use == Use::weight || column.use == Use::exposure)
    column.code = std::make_shared<ColumnCode>(rule, file.place(rule), options.decimal == "comma");
}

}  // namespace

bool may_lack(const ColumnRule& rule, const ReadingRules& options) {
  return ((rule.kind == ColumnKind::label || is_factor(rule.kind)) && options.label == no_label) ||
         (rule.kind == ColumnKind::person && options.persons == ReadingRules::Persons::nothing);
}

std::vector<std::string> names_by_file(const ReadingRules& options, std::size_t width) {
  const ColumnsFile& file = *options.columns_file;
  std::vector<std::string> all, needed;
  for (const ColumnRule& rule : file.columns) {
    all.push_back(rule.name);
    if (!may_lack(rule, options)) needed.push_back(rule.name);
  }
  if (needed.size() == width) return needed;
  if (all.size() == width) return all;
  throw ConfigError(fmt::format(
      "{} names {} columns where the first line has {}: a table without a header has a line there for each of its "
      "columns, in their order (or set data.header = yes)",
      file.path, all.size(), width));
}

void archive_columns_file(Archive& archive, const ReadingRules& options) {
  const std::string here = options.columns_file ? options.columns_file->digest : "";
  std::string digest = here;
  archive.field("columns file", digest);
  if (digest != here)
    throw ConfigError("data.columns is not the same file on all ranks: put one file where all of them see it");
}

void TableSchema::use_file(const std::vector<std::string>& names, const ReadingRules& options) {
  file = options.columns_file;
  check_names(names, *file, options);
  for (TableColumn& column : columns) column.use = TableColumn::Use::drop;  // those that the file does not name
  if (options.label != no_label && file->label() == nullptr)
    throw ConfigError(
        fmt::format("no column of {} has the kind label (records without labels: data.label = none)", file->path));
  std::unordered_map<std::string_view, TableColumn*> by_name;
  for (TableColumn& column : columns) by_name.emplace(column.name, &column);
  // Features stand in the order of the file, whatever that of the table is.
  for (const ColumnRule& rule : file->columns) {
    const auto found = by_name.find(rule.name);
    if (found == by_name.end()) continue;
    TableColumn& column = *found->second;
    set_by_rule(column, *file, rule, options);
    column.feature = features;
    if (column.use == TableColumn::Use::coded)
      features += column.code->width(), row_entries += column.code->entries();
  }
}

}  // namespace dpmpi
