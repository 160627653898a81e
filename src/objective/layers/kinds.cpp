#include "objective/layers/kinds.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t largest_number = 1'000'000;

std::optional<std::size_t> whole_number(std::string_view word) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value > largest_number) return {};
  return value;
}

}  // namespace

std::optional<std::string> LayerWords::next() {
  return read_ < words_.size() ? std::optional(words_[read_++]) : std::nullopt;
}

std::size_t LayerWords::number(std::string_view what) {
  const auto word = next();
  if (!word) throw ConfigError(fmt::format("the {} is missing", what));
  const auto value = whole_number(*word);
  if (!value || *value == 0)
    throw ConfigError(
        fmt::format("the {} is {}; it takes a whole number from 1 to {}", what, *word, largest_number));
  return *value;
}

std::pair<std::size_t, std::size_t> LayerWords::window(std::string_view what) {
  const auto word = next();
  if (!word) throw ConfigError(fmt::format("the {} is missing", what));
  const std::size_t cross = word->find('x');
  const auto height = whole_number(std::string_view(*word).substr(0, cross));
  const auto width = cross == word->npos ? height : whole_number(std::string_view(*word).substr(cross + 1));
  if (!height || !width || *height == 0 || *width == 0)
    throw ConfigError(
        fmt::format("the {} is {}; it takes HEIGHTxWIDTH, as 3x3, or one number for both", what, *word));
  return {*height, *width};
}

Volume LayerWords::image(std::string_view what) {
  const auto word = next();
  if (!word) throw ConfigError(fmt::format("the {} is missing", what));
  const std::string_view text = *word;
  const std::size_t first = text.find('x'), last = text.rfind('x');
  if (first < last && last != text.npos) {
    const auto channels = whole_number(text.substr(0, first)),
               height = whole_number(text.substr(first + 1, last - first - 1)),
               width = whole_number(text.substr(last + 1));
    if (channels && height && width && *channels * *height * *width > 0) return {*channels, *height, *width};
  }
  throw ConfigError(fmt::format("the {} is {}; it takes CHANNELSxHEIGHTxWIDTH, as 32x7x7", what, *word));
}

std::optional<std::size_t> LayerWords::after(std::string_view word, std::size_t least) {
  if (read_ >= words_.size() || words_[read_] != word) return {};
  ++read_;
  const auto value = next();
  const auto read = value ? whole_number(*value) : std::nullopt;
  if (!read || *read < least)
    throw ConfigError(fmt::format("{} is {}; it takes a whole number from {} to {}", word,
                                  value.value_or("missing"), least, largest_number));
  return read;
}

bool LayerWords::flag(std::string_view word) {
  const bool there = read_ < words_.size() && words_[read_] == word;
  if (there) ++read_;
  return there;
}

void LayerWords::expect(std::string_view word) {
  if (!flag(word)) throw ConfigError(fmt::format("{} is missing", word));
}

std::optional<std::pair<std::size_t, std::size_t>> LayerWords::range(std::string_view what) {
  const auto word = next();
  if (!word) return {};
  const std::size_t dash = std::min(word->find('-'), word->size());
  const auto first = whole_number(std::string_view(*word).substr(0, dash)),
             last = whole_number(std::string_view(*word).substr(std::min(dash + 1, word->size())));
  if (!first || !last || *first == 0 || *last < *first)
    throw ConfigError(
        fmt::format("the {} is {}; it takes FIRST-LAST, numbers of features from 1, as 5-12", what, *word));
  return std::pair(*first, *last);
}

double LayerWords::probability(std::string_view what) {
  const auto word = next();
  if (!word) throw ConfigError(fmt::format("the {} is missing", what));
  double value = 0;
  const auto [end, error] = std::from_chars(word->data(), word->data() + word->size(), value);
  if (error != std::errc() || end != word->data() + word->size() || !(value > 0 && value < 1))
    throw ConfigError(fmt::format("the {} is {}; it takes a number above 0 and below 1, as 0.1", what, *word));
  return value;
}

LayerPlans LayerWords::inside() {
  inside_read_ = true;
  return inside_;
}

void LayerWords::finish() const {
  if (read_ < words_.size()) throw ConfigError(fmt::format("{} is not expected there", words_[read_]));
  if (!inside_read_ && !inside_.empty()) throw ConfigError("it takes no layers in parentheses");
}

const std::vector<LayerKind>& layer_kinds() {
  static const std::vector<LayerKind> kinds = [] {
    std::vector<LayerKind> all = {dense_kind(),   conv_kind(),       max_pool_kind(),   average_pool_kind(),
                                  flatten_kind(), group_norm_kind(), layer_norm_kind(), residual_kind(),
                                  dropout_kind(), embedding_kind(),  upsample_kind(),   unflatten_kind()};
    for (const LayerKind& kind : activation_kinds()) all.push_back(kind);
    return all;
  }();
  return kinds;
}

}  // namespace dpmpi
