#include "run/config/recipe.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/run_file.hpp"
#include "core/ini.hpp"
#include "data/columns/columns_file.hpp"

namespace dpmpi {
namespace {

/// Half of what the header of a model file may hold, with room for the quotation marks of JSON.
constexpr std::size_t longest_recipe = file_limit::mebibyte / 2;

// Which records there were, how a run went through them, and what it began with and left as it was, says nothing of
// how others are read.
bool is_of_recipe(std::string_view name) {
  constexpr std::array others{"data.train",
                              "data.memory",
                              "data.eval",
                              "data.root",
                              "data.shards",
                              "data.columns",
                              "data.shard_records",
                              "data.records",
                              "data.blocks",
                              "data.person_records",
                              "data.person_sampling",
                              "data.show_values",
                              "data.keep_one_in",
                              "data.prepare",
                              "data.prepare_rare",
                              "objective.library",
                              "objective.library_digest",
                              "objective.module",
                              "objective.module_digest",
                              "objective.trainer",
                              "objective.train",
                              "objective.start_model",
                              "objective.start_digest",
                              "objective.train_layers"};
  return (name.starts_with("data.") || name.starts_with("objective.")) &&
         std::ranges::find(others, name) == others.end();
}

std::uint64_t features_in(const std::map<std::string, std::string>& pairs, const std::string& path) {
  const auto found = pairs.find("features");
  std::uint64_t features = 0;
  if (found != pairs.end()) {
    const char* const end = found->second.data() + found->second.size();
    const auto [stop, error] = std::from_chars(found->second.data(), end, features);
    if (error == std::errc() && stop == end && features > 0) return features;
  }
  throw DataError(fmt::format("{}: its header does not say how many features records have", path));
}

}  // namespace

bool needs_more_than_the_model(const RunConfig& config) {
  return config.library() != nullptr || config.training() != nullptr || !config.value("objective.train").empty();
}

bool is_utf8(const std::string& text) {
  try {
    return !nlohmann::json(text).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

std::vector<std::pair<std::string, std::string>> recipe_of(const RunConfig& config, std::uint64_t features,
                                                           const std::string& columns) {
  if (needs_more_than_the_model(config)) return {};
  std::string text;
  for (const char* const section : {"data", "objective"}) {
    text += fmt::format("[{}]\n", section);
    for (const auto& [name, value] : config.set_in(section)) {
      if (!is_of_recipe(name)) continue;
      // What was found out about the columns stands in the text, which the config's digest does not know.
      const bool prepared = config.prepare.on() && name == "data.columns_digest";
      text +=
          fmt::format("{} = {}\n", name.substr(name.find('.') + 1), ini_value(prepared ? sha256(columns) : value));
    }
  }
  if (text.size() + columns.size() > longest_recipe || !is_utf8(text) || !is_utf8(columns)) return {};
  std::vector<std::pair<std::string, std::string>> pairs{{"recipe", text},
                                                         {"features", fmt::format("{}", features)}};
  if (!columns.empty()) pairs.emplace_back("columns", columns);
  return pairs;
}

ReadRecipe read_recipe(const std::map<std::string, std::string>& pairs, const std::string& path,
                       const std::vector<std::string>& overrides) {
  const auto recipe = pairs.find("recipe");
  if (recipe == pairs.end())
    throw DataError(fmt::format(
        "{} does not say how records are read (an older version wrote it, its objective needs more than "
        "the model, or its columns file is no UTF-8 or too long): name its run directory in its place",
        path));
  const std::string place = path + " (recipe)";
  Settings settings;
  for (const IniEntry& entry : parse_ini(recipe->second, place)) {
    if (!is_of_recipe(entry.name))
      throw DataError(fmt::format("{}:{}: {} is not for a model file to say", place, entry.line, entry.name));
    settings[entry.name] = {entry.value, fmt::format("{}:{}", place, entry.line)};
  }
  // A config has training records and a promise; this one has neither.
  settings["data.train"] = {"(training records of the model)", place};
  settings["privacy.noise"] = {"none", place};
  const auto columns = pairs.find("columns");
  if (columns != pairs.end()) settings["data.columns"] = {path, place};
  for (const std::string& assignment : overrides) apply_override(settings, assignment);
  auto config = std::make_unique<const RunConfig>(settings, path, ConfigOf::run,
                                                  columns == pairs.end() ? "" : columns->second);
  if (needs_more_than_the_model(*config))
    throw DataError(fmt::format("{}: objective.name = {} needs more than a model file: name its run directory",
                                place, config->objective_name));
  return {std::move(config), features_in(pairs, path)};
}

}  // namespace dpmpi
