#include "run/config/automatic.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dpmpi {
namespace {

/// "dp-sgd finds method.batch, method.epochs, ... by itself; ...".
std::string what_can_be() {
  std::vector<std::string> all;
  for (const AutomaticRule& rule : automatic_rules())
    all.push_back(fmt::format("{} finds method.{} by itself", rule.name, fmt::join(rule.keys, ", method.")));
  return fmt::format("{}", fmt::join(all, "; "));
}

/// What the rule takes for granted of settings that it does not find; empty: nothing is in its way.
std::string obstacle(const AutomaticRule& rule, const Settings& settings) {
  const auto given = [&](const std::string& name) -> std::optional<std::string> {
    const auto at = settings.find(name);
    return at == settings.end() ? std::nullopt : std::optional(at->second.value);
  };
  for (const AutomaticRule::Needed& needed : rule.needed) {
    const auto text = given(needed.setting);
    if (text ? std::ranges::find(needed.values, *text) == needed.values.end() : !needed.by_default)
      return needed.words;
  }
  const auto objective = given("objective.name");
  if (!rule.networks && (objective == "mlp" || objective == "network"))
    return fmt::format("an objective other than {}", *objective);
  for (const char* const of_others : {"objective.library", "objective.module", "objective.trainer"})
    if (given(of_others)) return "an objective of dpmpi itself";
  return {};
}

bool is_known_to_any(const std::string& key) {
  return std::ranges::any_of(automatic_rules(), [&](const AutomaticRule& rule) {
    return std::ranges::find(rule.keys, key) != rule.keys.end();
  });
}

}  // namespace

Settings without_automatic(const Settings& settings, const std::string& method, std::vector<std::string>& taken,
                           std::vector<std::string>& problems) {
  constexpr std::string_view section = "method.";
  const AutomaticRule* const rule = automatic_rule(method);
  Settings others = settings;
  for (const auto& [name, setting] : settings) {
    if (setting.value != automatic_word || !name.starts_with(section)) continue;
    const std::string key = name.substr(section.size());
    if (rule == nullptr && !is_known_to_any(key) && key != "passes") continue;  // it may be a word of its own
    others.erase(name);
    if (rule != nullptr && std::ranges::find(rule->keys, key) != rule->keys.end())
      taken.push_back(name);
    else
      problems.push_back(fmt::format("{}: {} = auto is not allowed with method.name = {}: {}", setting.origin, name,
                                     method, what_can_be()));
  }
  if (taken.empty()) return others;
  if (const std::string needed = obstacle(*rule, others); !needed.empty())
    problems.push_back(fmt::format("{} = auto needs {}", fmt::join(taken, ", "), needed));
  return others;
}

}  // namespace dpmpi
