#include "run/config/automatic.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dpmpi {
namespace {

/// "dp-sgd finds batch, epochs, ... by itself".
std::string what_can_be() {
  return fmt::format("{} finds method.{} by itself", automatic_method, fmt::join(automatic_keys(), ", method."));
}

/// What the rule takes for granted of settings that it does not find; empty: nothing is in its way.
std::string obstacle(const Settings& settings) {
  const auto is_other = [&](const char* name, const std::vector<std::string>& allowed) {
    const auto at = settings.find(name);
    return at != settings.end() && std::ranges::find(allowed, at->second.value) == allowed.end();
  };
  if (is_other("method.optimizer", {"sgd"})) return "method.optimizer = sgd";
  if (is_other("method.sampling", {"poisson", "full"})) return "method.sampling = poisson or full";
  if (is_other("method.steps", {"0"})) return "method.epochs in place of method.steps";
  // Two hidden layers on Fashion-MNIST did not train at all (docs/results/default_settings.md).
  for (const char* name : {"mlp", "network"})
    if (settings.contains("objective.name") && settings.at("objective.name").value == name)
      return fmt::format("an objective other than {}", name);
  if (is_other("method.final_rate", {"0"})) return "method.final_rate = 0";
  if (is_other("method.clip_quantile", {"0"})) return "method.clip_quantile = 0: rates are per clip where it moves";
  for (const char* const of_others : {"objective.library", "objective.module", "objective.trainer"})
    if (settings.contains(of_others)) return "an objective of dpmpi itself";
  return {};
}

}  // namespace

const std::vector<std::string>& automatic_keys() {
  static const std::vector<std::string> keys{"batch", "epochs", "clip", "rate", "momentum", "schedule"};
  return keys;
}

Settings without_automatic(const Settings& settings, const std::string& method, std::vector<std::string>& taken,
                           std::vector<std::string>& problems) {
  constexpr std::string_view section = "method.";
  Settings others = settings;
  for (const auto& [name, setting] : settings) {
    if (setting.value != automatic_word || !name.starts_with(section)) continue;
    const bool known = std::ranges::find(automatic_keys(), name.substr(section.size())) != automatic_keys().end();
    if (method != automatic_method && !known && name != "method.passes") continue;  // it may be a word of its own
    others.erase(name);
    if (method == automatic_method && known)
      taken.push_back(name);
    else
      problems.push_back(fmt::format("{}: {} = auto is not allowed with method.name = {}: {}", setting.origin, name,
                                     method, what_can_be()));
  }
  if (taken.empty()) return others;
  if (const std::string needed = obstacle(others); !needed.empty())
    problems.push_back(fmt::format("{} = auto needs {}", fmt::join(taken, ", "), needed));
  return others;
}

}  // namespace dpmpi
