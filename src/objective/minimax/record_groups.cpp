#include "objective/minimax/record_groups.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/records/text.hpp"
#include "objective/copy_rows.hpp"

namespace dpmpi {
namespace {

void check_sizes(const std::vector<std::uint64_t>& sizes) {
  if (sizes.size() < 2)
    throw ConfigError(fmt::format(
        "objective.group_sizes {}: it needs those of two or more groups, public constants that are not counted from the data",
        sizes.empty() ? "is not set" : fmt::format("= {} has {} sizes", fmt::join(sizes, ","), sizes.size())));
  if (std::count(sizes.begin(), sizes.end(), 0U) > 0)
    throw ConfigError(
        fmt::format("objective.group_sizes = {}: a group has at least 1 record", fmt::join(sizes, ",")));
}

// Labels that are groups: those of classes, or of a sign.
void check_classes(const WorstGroupSettings& settings) {
  const MlpShape& model = settings.model;
  if (model.head != Head::softmax && model.head != Head::logistic)
    throw ConfigError(
        "objective.group_feature = 0 makes groups of classes, and this objective.head has none: name the feature, "
        "from 1, that holds the group");
  const std::size_t classes = model.head == Head::softmax ? model.units.back() : 2;
  if (settings.group_sizes.size() != classes)
    throw ConfigError(fmt::format(
        "objective.group_sizes = {} has {} sizes, but with objective.group_feature = 0 the {} classes of the labels "
        "are the groups",
        fmt::join(settings.group_sizes, ","), settings.group_sizes.size(), classes));
}

void check_feature(const WorstGroupSettings& settings) {
  if (settings.group_feature == 0) return check_classes(settings);
  const std::size_t features = settings.model.units.front();
  if (settings.group_feature > features)
    throw ConfigError(
        fmt::format("objective.group_feature = {}, allowed: a feature, 1 to {}, or 0, the class of the label",
                    settings.group_feature, features));
}

}  // namespace

RecordGroups::RecordGroups(const WorstGroupSettings& settings)
    : feature_(settings.group_feature), signs_(settings.model.head == Head::logistic) {
  check_sizes(settings.group_sizes);
  check_feature(settings);
  const double n = std::accumulate(settings.group_sizes.begin(), settings.group_sizes.end(), 0.0);
  for (const std::uint64_t size : settings.group_sizes) weight_.push_back(n / static_cast<double>(size));
}

std::optional<std::size_t> RecordGroups::of(const Records& records, std::uint32_t i) const {
  float g = feature_ > 0 ? feature_of(records, i, feature_ - 1) : records.label[i];
  if (feature_ == 0 && signs_) g = g > 0 ? 1.0F : g < 0 ? 0.0F : g;
  if (!(g >= 0 && g < static_cast<float>(count())) || g != std::floor(g)) return {};
  return static_cast<std::size_t>(g);
}

void RecordGroups::check(const Shard& shard) const {
  if (feature_ == 0) return;  // labels were checked when they were read
  for (const Block& block : shard.blocks)
    for (std::uint32_t i = 0; i < block.records.count; ++i) {
      if (std::isnan(block.records.label[i]) || of(block.records, i)) continue;
      throw DataError(fmt::format(
          "objective.group_feature = {}: that feature of record {} is {}, which is no group; allowed are whole "
          "numbers 0 to {}, one for each of objective.group_sizes, after data.scale, data.mean and data.std",
          feature_, block.first_index + i + 1,
          show_field(fmt::format("{}", feature_of(block.records, i, feature_ - 1))), count() - 1));
    }
}

}  // namespace dpmpi
