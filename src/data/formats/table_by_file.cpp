// How the lines of data.columns meet the columns of a table.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/formats/table.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

/// Throws ConfigError with all names that one side has and the other lacks.
void check_names(const std::vector<std::string>& names, const ColumnsFile& file, const ReadingRules& options) {
  std::vector<std::string> not_here, not_there, twice, problems;
  for (auto name = names.begin(); name != names.end(); ++name) {
    const bool used = file.find(*name) != nullptr || !options.more_columns;
    if (used && std::find(names.begin(), name, *name) != name) twice.push_back(show(*name));
    if (file.find(*name) == nullptr && !options.more_columns) not_there.push_back(show(*name));
  }
  for (const ColumnRule& rule : file.columns)
    if (std::ranges::find(names, rule.name) == names.end() && !may_lack(rule, options))
      not_here.push_back(fmt::format("{} (line {})", show(rule.name), rule.line));
  if (!not_here.empty())
    problems.push_back(
        fmt::format("columns of {} that the table has not: {}", file.path, fmt::join(not_here, ", ")));
  if (!not_there.empty())
    problems.push_back(
        fmt::format("columns of the table that {} does not name: {} (the kind ignore leaves one out)", file.path,
                    fmt::join(not_there, ", ")));
  if (!twice.empty())
    problems.push_back(fmt::format("columns that the table has twice: {}", fmt::join(twice, ", ")));
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
}

/// The column's use, but for its place among the features.
void set_by_rule(TableColumn& column, const ColumnsFile& file, const ColumnRule& rule,
                 const ReadingRules& options) {
  const bool labelled = rule.kind == ColumnKind::label && options.label != no_label;
  const bool person = rule.kind == ColumnKind::person && options.persons != ReadingRules::Persons::nothing;
  column.use = labelled               ? TableColumn::Use::label
               : person               ? TableColumn::Use::person
               : makes_features(rule) ? TableColumn::Use::coded
                                      : TableColumn::Use::drop;
  if (person && rule.missing) column.nobody = *rule.missing;
  if (column.use == TableColumn::Use::coded)
    column.code = std::make_shared<ColumnCode>(rule, file.place(rule), options.decimal == "comma");
}

}  // namespace

bool may_lack(const ColumnRule& rule, const ReadingRules& options) {
  return (rule.kind == ColumnKind::label && options.label == no_label) ||
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

void TableSchema::use_file(const std::vector<std::string>& names, const ReadingRules& options) {
  file = options.columns_file;
  check_names(names, *file, options);
  for (TableColumn& column : columns) column.use = TableColumn::Use::drop;  // those that the file does not name
  if (options.label != no_label && file->label() == nullptr)
    throw ConfigError(
        fmt::format("no column of {} has the kind label (records without labels: data.label = none)", file->path));
  // Features stand in the order of the file, whatever that of the table is.
  for (const ColumnRule& rule : file->columns) {
    const auto found = std::ranges::find(columns, rule.name, &TableColumn::name);
    if (found == columns.end()) continue;
    set_by_rule(*found, *file, rule, options);
    found->feature = features;
    if (found->code) features += found->code->width();
  }
}

}  // namespace dpmpi
