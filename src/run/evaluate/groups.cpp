#include "run/evaluate/groups.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/copy_rows.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t most_groups = 50;
constexpr float no_group = std::numeric_limits<float>::quiet_NaN();

std::string number_of_group(float group) { return fmt::format("{}", group); }

Grouping by_feature(std::size_t feature) {
  return {[feature](const Records& records, std::uint32_t row) { return feature_of(records, row, feature); },
          number_of_group, most_groups};
}

/// The group is the number of the first of these features that is above 0; of a word that is none of them, the
/// last.
Grouping by_words(const std::vector<std::size_t>& features, std::vector<std::string> words) {
  words.emplace_back("(none of these)");
  return {[features](const Records& records, std::uint32_t row) {
            const auto is_set = [&](std::size_t feature) { return feature_of(records, row, feature) > 0; };
            return static_cast<float>(std::ranges::find_if(features, is_set) - features.begin());
          },
          [words](float group) { return words[static_cast<std::size_t>(group)]; }, most_groups};
}

/// From 0, or as many as there are.
std::size_t numbered_feature(const std::string& column, std::size_t features) {
  std::size_t number = 0;
  const auto end = column.data() + column.size();
  const auto [stop, error] = std::from_chars(column.data(), end, number);
  return error == std::errc{} && stop == end && number >= 1 && number <= features ? number - 1 : features;
}

}  // namespace

Grouping groups_of_objective(const Objective& objective) {
  const TellsGroups* const groups = objective.record_groups();
  return {.of =
              [groups](const Records& records, std::uint32_t row) {
                const auto group = groups ? groups->group_of(records, row) : std::nullopt;
                return group ? static_cast<float>(*group) : no_group;
              },
          .name = number_of_group};
}

Grouping groups_by_column(const std::string& column, const DatasetFacts& facts, const ReadingRules& rules) {
  std::istringstream lines(facts.feature_names);
  std::vector<std::string> words;
  std::vector<std::size_t> features;
  std::string name;
  for (std::size_t j = 0; std::getline(lines, name); ++j) {
    if (name == column) return by_feature(j);
    if (!name.starts_with(column + "=")) continue;
    words.push_back(name.substr(column.size() + 1)), features.push_back(j);
  }
  if (!features.empty() && !rules.mean.empty())
    throw ConfigError(fmt::format(
        "--by {0}: data.mean moves the features of its words, so that 0 is not where a word is not: name one of them, "
        "as {0}={1}",
        column, words[0]));
  if (!features.empty()) return by_words(features, words);
  const std::size_t number = numbered_feature(column, facts.features);
  if (number == facts.features)
    throw ConfigError(
        fmt::format("--by {}: there is no such feature; name one of the header, or its number from 1 to {}", column,
                    facts.features));
  return by_feature(number);
}

}  // namespace dpmpi
