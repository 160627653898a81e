#include "objective/layers/trained.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "objective/layers/adapter.hpp"

namespace dpmpi {
namespace {

/// From 1 to `count`; else 0.
std::size_t layer_number(std::string_view word, std::size_t count) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() && number <= count ? number : 0;
}

}  // namespace

TrainedLayers::TrainedLayers(std::string_view text, std::size_t count, std::vector<std::string>& problems) {
  if (trim(text).empty()) return;
  constexpr std::string_view from = "from ";
  const auto refuse = [&](std::string_view word) {
    problems.push_back(fmt::format(
        "objective.train_layers = {}: {} is no layer; it takes numbers of layers from 1 to {}, as 8,10, or from 8",
        text, word.empty() ? "nothing" : word, count));
  };
  trained_.assign(count, false);
  if (trim(text).starts_with(from)) {
    const std::string_view word = trim(trim(text).substr(from.size()));
    const std::size_t first = layer_number(word, count);
    if (first == 0) refuse(word);
    for (std::size_t l = std::max<std::size_t>(first, 1); l <= count; ++l) trained_[l - 1] = true;
    return;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view word = trim(text.substr(begin, comma - begin));
    if (const std::size_t number = layer_number(word, count); number > 0)
      trained_[number - 1] = true;
    else
      refuse(word);
    begin = comma + 1;
  }
}

TrainedPart::TrainedPart(const std::vector<ParameterGroup>& all, const TrainedLayers& layers) {
  for (const ParameterGroup& group : all) {
    of_network_ += group.size();
    const std::size_t layer = std::stoul(group.name);
    if (!layers.has(layer) || has_adapter(group, all)) continue;
    if (groups_.empty()) first_layer_ = layer - 1;
    if (runs_.empty() || runs_.back().in_network + runs_.back().size != group.offset)
      runs_.push_back({group.offset, size_, 0});
    runs_.back().size += group.size();
    in_network_.push_back(group);
    groups_.push_back(group);
    groups_.back().offset = size_;
    size_ += group.size();
  }
  if (of_network_ > 0 && size_ == 0) throw ConfigError("the layers of objective.train_layers have no parameters");
}

}  // namespace dpmpi
