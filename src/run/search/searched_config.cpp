#include "run/search/searched_config.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/files/run_file.hpp"

namespace dpmpi {
namespace {

struct Entry {
  std::string key;
  TunedRange range;
};

Entry parse(const std::string& text) {
  const std::string name = "objective.search";
  if (std::ranges::count(text, ':') != 2)
    throw ConfigError(fmt::format("{} = {}: entries are written section.key:low:high", name, text));
  const NamedValue high = split_entry(text, name), low = split_entry(high.name, name);
  const TunedRange range = TunedRange::parse(fmt::format("{}: {}", name, low.name), {low.value, high.value});
  if (!low.name.starts_with("method.") && !low.name.starts_with("objective."))
    throw ConfigError(fmt::format("{}: {} is not an option of [method] or [objective]", name, low.name));
  return {low.name, range};
}

}  // namespace

SearchedConfig::SearchedConfig(const std::string& path, const std::vector<std::string>& searched, ConfigOf whose)
    : path_(path), whose_(whose) {
  if (whose == ConfigOf::run) check_no_link(path);
  text_ = read_ini(path);
  // Looked at before the config is read, which might read itself and so on for ever.
  if (const auto objective = text_.find("objective.name");
      objective != text_.end() && objective->second.value.starts_with("tune_"))
    throw ConfigError(fmt::format(
        "{}: objective.name = {} trains models itself; a trainer's objective is the loss that its model minimises",
        path, objective->second.value));
  base_ = std::make_unique<const RunConfig>(text_, path, whose);
  for (const std::string& text : searched) {
    const Entry entry = parse(text);
    if (base_->value(entry.key).empty())
      throw ConfigError(
          fmt::format("objective.search: {} has no number {} that could be searched for", path, entry.key));
    if (std::ranges::find(keys_, entry.key) != keys_.end())
      throw ConfigError(fmt::format("objective.search: {} is there twice", entry.key));
    hyper_.add(entry.key, entry.range);
    keys_.push_back(entry.key);
  }
  centre_ = with(settings(std::vector<double>(hyper_.dim())));
}

std::vector<std::string> SearchedConfig::settings(std::span<const double> point) const {
  std::vector<double> values(hyper_.count());
  hyper_.at(point, values);
  std::vector<std::string> settings;
  for (std::size_t i = 0; i < keys_.size(); ++i)
    settings.push_back(base_->whole(keys_[i]) ? fmt::format("{}={}", keys_[i], std::llround(values[i]))
                                              : fmt::format("{}={}", keys_[i], values[i]));
  return settings;
}

std::unique_ptr<RunConfig> SearchedConfig::with(const std::vector<std::string>& settings) const {
  Settings text = text_;
  for (const std::string& setting : settings) apply_override(text, setting);
  try {
    return std::make_unique<RunConfig>(text, path_, whose_);
  } catch (const ConfigError& e) {
    throw ConfigError(fmt::format("objective.search: {} with {}: {}", path_, fmt::join(settings, " "), e.what()));
  }
}

}  // namespace dpmpi
