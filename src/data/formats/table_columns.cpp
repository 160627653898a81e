// How the columns of a table become features: label, vocabularies, dropped columns.

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

std::size_t find_column(const std::vector<TableColumn>& columns, const std::string& name, const std::string& key) {
  const auto named = std::ranges::find(columns, name, &TableColumn::name);
  if (named != columns.end()) return static_cast<std::size_t>(named - columns.begin());
  std::vector<std::string> names;
  for (const TableColumn& column : columns) names.push_back(column.name);
  return place_of_column(names, name, key);
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
    throw ConfigError(fmt::format("{}: column {} already has another use (label, one_hot, person or drop)", key,
                                  show(column.name)));
  column.use = use;
}

void set_vocabulary(std::vector<TableColumn>& columns, const std::string& entry) {
  const std::size_t colon = entry.find(':');
  if (colon == std::string::npos || colon == 0)
    throw ConfigError(fmt::format("data.one_hot = {}: entries are written column:word|word|...", entry));
  const std::string name(trim(std::string_view(entry).substr(0, colon)));
  TableColumn& column = columns[find_column(columns, name, "data.one_hot")];
  set_use(column, Use::one_hot, "data.one_hot");
  column.words = split_words(entry.substr(colon + 1));
}

/// Records that are no training records need not have the column: it is no feature anywhere.
void set_person(std::vector<TableColumn>& columns, const ReadingRules& options) {
  const bool read = options.persons != ReadingRules::Persons::nothing;
  const auto has_name = [&](const TableColumn& column) { return column.name == options.person; };
  if (std::ranges::count_if(columns, has_name) > 1)
    throw ConfigError(
        fmt::format("data.person: two columns are called {}: give them names of their own", show(options.person)));
  double number = 0;
  if (!read && !to_number(options.person, number) && std::ranges::none_of(columns, has_name)) return;
  set_use(columns[find_column(columns, options.person, "data.person")], read ? Use::person : Use::drop,
          "data.person");
}

/// Throws ConfigError with all that does not fit.
void assign_uses(std::vector<TableColumn>& columns, const ReadingRules& options) {
  std::vector<std::string> problems;
  const auto attempt = [&](auto&& set) {
    try {
      set();
    } catch (const ConfigError& e) {
      problems.emplace_back(e.what());
    }
  };
  if (options.label != no_label) attempt([&] { columns[find_label(columns, options.label)].use = Use::label; });
  if (!options.person.empty()) attempt([&] { set_person(columns, options); });
  for (const auto& entry : options.one_hot) attempt([&] { set_vocabulary(columns, entry); });
  for (const auto& name : options.drop)
    attempt([&] { set_use(columns[find_column(columns, name, "data.drop")], Use::drop, "data.drop"); });
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
}

}  // namespace

std::size_t place_of_column(std::vector<std::string> names, const std::string& name, const std::string& key) {
  const auto named = std::ranges::find(names, name);
  if (named != names.end()) return static_cast<std::size_t>(named - names.begin());
  const std::size_t count = names.size();
  double number = 0;
  if (to_number(name, number) && number >= 1 && number <= static_cast<double>(count) &&
      number == static_cast<double>(static_cast<std::size_t>(number)))
    return static_cast<std::size_t>(number) - 1;
  const std::string near = nearest_name(name, names);
  constexpr std::size_t shown = 30;
  if (count > shown) names.resize(shown), names.emplace_back("...");
  throw ConfigError(fmt::format("{}: there is no column {}{}; columns are {} (or 1 to {})", key, show(name),
                                near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                                fmt::join(names, ", "), count));
}

bool names_label(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char x) { return static_cast<char>(std::tolower(static_cast<unsigned char>(x))); });
  return name == "label" || name == "target" || name == "class" || name == "y";
}

TableSchema::TableSchema(const std::vector<std::string>& names, const ReadingRules& options)
    : zero_if_unknown(options.unknown == "zero") {
  if (!options.missing.empty()) missing = option_number(options.missing, "data.missing");
  for (const std::string& name : names) columns.push_back({.name = name});
  if (options.columns_file) {
    use_file(names, options);
  } else {
    assign_uses(columns, options);
    number_features(options);
  }
  if (options.persons == ReadingRules::Persons::alone) leave_persons_alone();
}

void TableSchema::number_features(const ReadingRules& options) {
  for (TableColumn& column : columns) {
    column.feature = features;
    if (column.use == Use::number) features += 1, row_entries += 1;
    if (column.use != Use::one_hot) continue;
    features += column.words.size();
    row_entries += options.mean.empty() ? 1 : column.words.size();
  }
  if (features == 0) throw ConfigError("the table has no feature column: data.label and data.drop leave nothing");
}

Storage TableSchema::storage(const ReadingRules& options) const {
  constexpr std::uint64_t features_an_entry = 16;
  if (features == 0 || options.storage == "dense") return Storage::dense_f32;
  const bool few = features / features_an_entry >= row_entries;
  return few || options.storage == "sparse" ? Storage::sparse_f32 : Storage::dense_f32;
}

/// Of records that are counted, and not read.
void TableSchema::leave_persons_alone() {
  for (TableColumn& column : columns)
    if (column.use != Use::person) column.use = Use::drop, column.code.reset(), column.words.clear();
  features = row_entries = 0;
}

std::size_t TableSchema::feature_of(const std::string& column) const {
  const TableColumn& c = columns[find_column(columns, column, "data.mean or data.std")];
  if (c.use != Use::number)
    throw ConfigError(fmt::format("data.mean or data.std: column {} is not a number column", show(column)));
  return c.feature;
}

std::string TableSchema::signature() const {
  if (file) return fmt::format("those of data.columns with SHA-256 {}", file->digest.substr(0, 12));
  std::string text;
  for (const auto& c : columns) text += fmt::format("{}:{};", c.name, static_cast<int>(c.use));
  return text;
}

std::string TableSchema::feature_names() const {
  std::vector<std::string> names(features);
  const auto put = [&](std::size_t feature, const std::string& name) { names[feature] = name + '\n'; };
  for (const TableColumn& column : columns) {
    if (column.use == Use::number) put(column.feature, column.name);
    for (std::size_t w = 0; w < column.words.size(); ++w)
      put(column.feature + w, column.name + "=" + column.words[w]);
    for (std::size_t f = 0; column.use == Use::coded && f < column.code->width(); ++f)
      put(column.feature + f, column.code->feature_names()[f]);
  }
  return fmt::format("{}", fmt::join(names, ""));
}

}  // namespace dpmpi
