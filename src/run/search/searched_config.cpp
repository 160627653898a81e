#include "run/search/searched_config.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/files/run_file.hpp"
#include "core/trim.hpp"

namespace dpmpi {
namespace {

void refuse(const std::string& text, const char* why) {
  throw ConfigError(fmt::format("objective.search = {}: {}", text, why));
}

std::vector<std::string> parse_list(const std::string& text, std::string_view values) {
  std::vector<std::string> listed;
  for (std::size_t at = 0; at <= values.size();) {
    const std::size_t end = std::min(values.find('|', at), values.size());
    listed.emplace_back(trim(values.substr(at, end - at)));
    at = end + 1;
  }
  for (const std::string& value : listed)
    if (value.empty() || std::ranges::count(listed, value) > 1)
      refuse(text, "lists are written section.key:a|b|c, of different values");
  return listed;
}

// A list of [objective] may decide on a model's shape.
bool shapes_models(const SearchedOption& option) {
  return !option.listed.empty() && option.key.starts_with("objective.");
}

}  // namespace

SearchedOption SearchedOption::parse(const std::string& text) {
  const std::string name = "objective.search";
  SearchedOption option;
  if (const std::size_t colon = text.find(':'); text.find('|') != text.npos && colon != text.npos && colon > 0) {
    option = {std::string(trim(std::string_view(text).substr(0, colon))),
              {},
              parse_list(text, std::string_view(text).substr(colon + 1))};
  } else {
    if (std::ranges::count(text, ':') != 2)
      refuse(text, "entries are written section.key:low:high or section.key:a|b|c, where no value holds a comma");
    const NamedValue high = split_entry(text, name), low = split_entry(high.name, name);
    option = {low.name, TunedRange::parse(fmt::format("{}: {}", name, low.name), {low.value, high.value}), {}};
  }
  if (option.key == "method.name" || option.key == "objective.name")
    throw ConfigError(
        fmt::format("{}: {} is not searched for: losses of different kinds cannot be compared, and all "
                    "trainings have the promise of one method",
                    name, option.key));
  if (!option.key.starts_with("method.") && !option.key.starts_with("objective."))
    throw ConfigError(fmt::format("{}: {} is not an option of [method] or [objective]", name, option.key));
  return option;
}

std::string SearchedOption::at(double coordinate, bool whole) const {
  if (listed.empty()) {
    const double value = range.at(coordinate);
    return whole ? fmt::format("{}", std::llround(value)) : fmt::format("{}", value);
  }
  const auto count = static_cast<double>(listed.size());
  return listed[static_cast<std::size_t>(std::min(std::floor(share_of(coordinate) * count), count - 1))];
}

std::vector<double> SearchedOption::levels() const {
  if (listed.empty()) return {-box_edge, box_edge};
  std::vector<double> middles;
  const auto count = static_cast<double>(listed.size());
  for (double i = 0; i < count; ++i) middles.push_back(box_edge * ((2 * i + 1) / count - 1));
  return middles;
}

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
    SearchedOption option = SearchedOption::parse(text);
    if (base_->value(option.key).empty() && option.listed.empty())
      throw ConfigError(
          fmt::format("objective.search: {} has no number {} that could be searched for", path, option.key));
    if (std::ranges::find(options_, option.key, &SearchedOption::key) != options_.end())
      throw ConfigError(fmt::format("objective.search: {} is there twice", option.key));
    hyper_.add(option.key, option.listed.empty() ? option.range : TunedRange{1, 2});  // of a list: a coordinate
    options_.push_back(std::move(option));
  }
  with(settings(std::vector<double>(hyper_.dim())));
}

std::vector<std::string> SearchedConfig::settings(std::span<const double> point) const {
  std::vector<std::string> settings;
  for (std::size_t j = 0; j < options_.size(); ++j)
    settings.push_back(
        fmt::format("{}={}", options_[j].key, options_[j].at(point[j], base_->whole(options_[j].key))));
  return settings;
}

std::vector<std::string> SearchedConfig::shape(const std::vector<std::string>& settings) const {
  std::vector<std::string> shape;
  for (std::size_t j = 0; j < options_.size(); ++j)
    if (shapes_models(options_[j])) shape.push_back(settings[j]);
  return shape;
}

std::vector<std::vector<std::string>> SearchedConfig::shapes() const {
  constexpr std::size_t most = 64;
  std::vector<std::vector<std::string>> all{{}};
  for (const SearchedOption& option : options_) {
    if (!shapes_models(option)) continue;
    std::vector<std::vector<std::string>> longer;
    for (const auto& shape : all)
      for (const std::string& value : option.listed) {
        longer.push_back(shape);
        longer.back().push_back(fmt::format("{}={}", option.key, value));
      }
    all = std::move(longer);
    if (all.size() > most)
      throw ConfigError(fmt::format(
          "objective.search: lists of [objective] make {} shapes of models up to {}; at most {} are allowed",
          all.size(), option.key, most));
  }
  return all;
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
