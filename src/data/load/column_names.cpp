#include "data/load/column_names.hpp"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/columns/columns_file.hpp"
#include "data/formats/table.hpp"

namespace dpmpi {
namespace {

using Names = std::vector<std::string>;

/// What a table's first line has in the place of column names, if data.header = auto takes it for them.
Names supposed_names(const Head& head, const ReadingRules& rules) {
  return make_format(detect_format(rules, head), rules)->supposed_names(head);
}

bool is_in(const Names& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

/// Whether the config has a column of this name.
bool is_in_config(const ReadingRules& rules, const std::string& name) {
  if (name == rules.label || (!name.empty() && name == rules.person) ||
      (rules.label == "auto" && names_label(name)) || is_in(rules.drop, name))
    return true;
  if (rules.columns_file && rules.columns_file->find(name) != nullptr) return true;
  const auto begins = [&](const std::string& entry) { return entry.starts_with(name + ':'); };
  const auto in_list = [&](const Names& entries) { return !name.empty() && std::ranges::any_of(entries, begins); };
  return in_list(rules.one_hot) || in_list(rules.mean) || in_list(rules.deviation);
}

}  // namespace

void check_public_names(const Head& head, const Dataset& dataset) {
  const ReadingRules& rules = dataset.rules;
  if (rules.columns_file && rules.more_columns) return;  // a line with all of its names is no record
  Names unknown = supposed_names(head, rules);
  std::erase_if(unknown, [&](const std::string& name) { return is_in_config(rules, name); });
  if (!unknown.empty() && !dataset.public_names.empty()) {
    try {
      InputFile eval(dataset.public_names);
      const Names known = supposed_names(read_head(eval, rules), rules);
      const std::unordered_set<std::string> names(known.begin(), known.end());
      std::erase_if(unknown, [&](const std::string& name) { return names.contains(name); });
    } catch (const DataError&) {  // it is not here, or no table: it confirms nothing
    }
  }
  if (!unknown.empty())
    throw ConfigError(
        fmt::format("{}: the first line may be column names or a private record: set data.header = yes if it holds "
                    "names, which messages then print, or no if it is a record (auto takes the first line of a "
                    "private file for names only where the config or data.eval has all of them)",
                    head.path));
}

}  // namespace dpmpi
