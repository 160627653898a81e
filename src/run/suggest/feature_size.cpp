#include "run/suggest/feature_size.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/columns/columns_file.hpp"
#include "data/load/transformed.hpp"

namespace dpmpi {
namespace {

/// Mean square of a byte of an image, over that of the largest one: most are dark, or bright.
constexpr double byte_square = 0.2;
/// Entries of a sparse record of which nothing is said.
constexpr double some_entries = 30;

/// The squared length without the bias, and why.
std::pair<double, std::string> square_of(const ReadingRules& rules, const DatasetFacts& data) {
  const auto features = static_cast<double>(data.features);
  if (rules.normalize == "l2") return {1, "data.normalize = l2"};
  if (rules.columns_file) {
    const auto made = std::ranges::count_if(rules.columns_file->columns, makes_features);
    return {static_cast<double>(made), fmt::format("data.columns: {} columns, each of size 1", made)};
  }
  if (const auto transform = transform_of(rules); transform && transform->normalises())
    return {features, fmt::format("data.transform: {} features, of mean square 1", data.features)};
  const double scale = rules.scale * rules.scale;
  if (data.storage == Storage::dense_u8)
    return {features * scale * 255 * 255 * byte_square, fmt::format("{} bytes, times data.scale", data.features)};
  if (data.storage == Storage::sparse_f32 && data.row_entries == 0)
    return {std::min(features, some_entries) * scale, "sparse records, taken to have 30 entries of size 1"};
  const auto entries =
      data.storage == Storage::sparse_f32 ? std::min(features, static_cast<double>(data.row_entries)) : features;
  return {entries * scale, fmt::format("{:.0f} features, taken to be of size {:.4g}", entries, rules.scale)};
}

}  // namespace

FeatureSize feature_size(const ReadingRules& rules, const DatasetFacts& data) {
  const auto [square, why] = square_of(rules, data);
  const double length = std::sqrt(square + rules.bias * rules.bias);
  return {std::isfinite(length) ? std::clamp(length, 1e-6, 1e6) : 1, why};
}

}  // namespace dpmpi
