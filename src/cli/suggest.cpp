// Settings for a config, from public numbers: what `auto` would take, why, and what more data or budget would give.

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "core/errors.hpp"
#include "data/load/held_out.hpp"
#include "data/load/load.hpp"
#include "data/records/text.hpp"
#include "run/config/automatic.hpp"
#include "run/plan/plan.hpp"
#include "run/suggest/feature_size.hpp"
#include "run/suggest/suggest.hpp"

namespace dpmpi {
namespace {

struct SuggestRequest {
  std::string from;
  std::vector<std::string> overrides;
};

/// The config as the rule is asked: with those settings left to it that are `auto`, or all of them if none is.
std::unique_ptr<const RunConfig> asked_config(const SuggestRequest& typed, const RunConfig& config) {
  std::vector<std::string> overrides = typed.overrides;
  if (config.automatic().empty()) {
    const AutomaticRule* const rule = automatic_rule(config.method_name);
    // Of a method without a rule: what is refused names those that have one.
    for (const std::string& key : rule ? rule->keys : std::vector<std::string>{"rate"})
      overrides.push_back(fmt::format("method.{}={}", key, automatic_word));
    if (!config.value("method.final_rate").empty()) overrides.emplace_back("method.final_rate=0");
  }
  return std::make_unique<const RunConfig>(typed.from, overrides);
}

void print_settings_of(const RunConfig& config, const std::vector<std::string>& open, const FoundSettings& found) {
  const auto is_open = [&](const FoundSetting& setting) {
    return std::ranges::find(open, "method." + setting.key) != open.end();
  };
  fmt::print("| {:<10} | {:<12} | {:<12} | {:<70} |\n", "setting", "config has", "suggested", "why");
  fmt::print("|{:-<12}|{:-<14}|{:-<14}|{:-<72}|\n", "", "", "", "");
  for (const FoundSetting& setting : found.all) {
    const std::string name = "method." + setting.key;
    const bool automatic = std::ranges::find(config.automatic(), name) != config.automatic().end();
    fmt::print("| {:<10} | {:<12} | {:<12} | {:<70} |\n", setting.key,
               automatic            ? automatic_word
               : config.given(name) ? config.value(name)
                                    : "-",
               is_open(setting) ? setting.text : "stays", is_open(setting) ? setting.why : "the config says it");
  }
  fmt::print("\n[method]\nname = {}\n", config.method_name);
  for (const FoundSetting& setting : found.all)
    if (is_open(setting)) fmt::print("{} = {}\n", setting.key, setting.text);
  if (config.automatic().empty() && !config.value("method.final_rate").empty()) fmt::print("final_rate = 0\n");
}

/// What was seen at such noise on the records on which the rule was found (docs/results/default_settings.md).
const char* in_words(double noise_over_signal) {
  if (noise_over_signal < 0.002) return "noise costs next to nothing";
  if (noise_over_signal < 0.02) return "noise costs a little";
  if (noise_over_signal < 0.2) return "noise costs much";
  return "noise hides nearly everything";
}

struct Variant {
  const char* name;
  double records = 1, epsilon = 1;  ///< times so much
};

void print_variants(const RunConfig& config, const DatasetFacts& data, const PublicNumbers& numbers,
                    const std::vector<std::string>& open) {
  fmt::print("\n| {:<22} | {:<17} | {:<31} |\n|{:-<24}|{:-<19}|{:-<33}|\n", "with", "noise over signal", "so", "",
             "", "");
  for (const Variant& variant :
       {Variant{"these records"}, Variant{"twice the records", 2, 1}, Variant{"ten times the records", 10, 1},
        Variant{"twice the epsilon", 1, 2}, Variant{"half the epsilon", 1, 0.5}}) {
    if (variant.epsilon != 1 && !(config.privacy.epsilon > 0)) continue;
    PublicNumbers other = numbers;
    other.records *= variant.records;
    other.mu = budget_of(config, data, variant.epsilon);
    const double noise = found_settings(config, other, open).noise_over_signal;
    fmt::print("| {:<22} | {:<17.2g} | {:<31} |\n", variant.name, noise, in_words(noise));
  }
}

/// Reads headers and counts lines. Local.
int suggest(const Communicator& alone, const SuggestRequest& typed) {
  const RunConfig config(typed.from, typed.overrides);
  const std::vector<std::string> open = asked_config(typed, config)->automatic();
  DatasetFacts data = inspect(alone, config.find_files().training);
  parts_of(config.data.test_share, data);
  const auto objective = make_objective(config, data);
  const PublicNumbers numbers = public_numbers(config, data, *objective);
  const FeatureSize size = feature_size(config.data, data);

  fmt::print("{} {} x {} features, {} parameters\na record's length is about {:.3g} ({})\n\n", data.units(),
             plural(config.data.unit()), data.features, objective->dim(), size.length, size.why);
  print_settings_of(config, open, found_settings(config, numbers, open));
  if (config.is_private()) print_variants(config, data, numbers, open);
  fmt::print(
      "\nAll of this follows from public numbers and costs no budget; `auto` in the place of a value takes the same.\n"
      "dpmpi tune tries settings on the records and pays for it with part of epsilon: take it only where lengths or\n"
      "labels are unlike what is said above.\n");
  return printed();
}

}  // namespace

Command suggest_command() {
  const auto typed = std::make_shared<SuggestRequest>();
  return {
      .name = "suggest",
      .forms = {{"dpmpi suggest CONFIG",
                 "settings that follow from public numbers, and what more data would give"}},
      .about =
          "Reads headers and counts lines, but no value. Prints what method.rate = auto and the like take.\n"
          "Settings that are not auto stay, if any is; else all are suggested anew. It costs no budget;\n"
          "dpmpi tune costs part of epsilon, and is for features or labels of unusual size.",
      .options =
          Options("").add("config", typed->from, "the configuration").add_each("set", typed->overrides, set_help),
      .arguments = {"config"},
      .needed = {"config"},
      .run = [typed](const Communicator& world) { return suggest(world, *typed); }};
}

}  // namespace dpmpi
