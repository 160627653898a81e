#include "data/records/labels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/records/text.hpp"

namespace dpmpi {

bool LabelRule::Name::operator==(const Name& other) const {
  return text == other.text ||
         (number && other.number && *number == *other.number && std::abs(*number) < distinct_up_to);
}

LabelRule::Name LabelRule::name_of(std::string_view text) {
  double number = 0;
  const bool numeric = to_number(text, number);
  return {std::string(text), numeric ? std::optional(number) : std::nullopt};
}

LabelRule::LabelRule(const ReadingRules& options, LabelKind kind, std::size_t classes, bool thin)
    : kind_(kind), classes_(classes), unlabelled_(options.label == no_label) {
  if (unlabelled_ && thin)
    throw ConfigError(
        "data.label = none: training needs labels; a trained model scores records without (dpmpi predict)");
  if (!options.positive.empty() && kind != LabelKind::sign)
    throw ConfigError(
        "data.positive makes labels -1 and +1, but this objective takes other labels: remove it, or use data.label_map");
  // Tables with decimal commas hand on labels that are numbers with a point.
  const auto word = [&](std::string_view text) {
    std::string name(trim(text));
    double number = 0;
    if (options.decimal == "comma" && to_number(name, true, number)) std::ranges::replace(name, ',', '.');
    return name_of(name);
  };
  for (const auto& text : options.positive) positive_.push_back(word(text));
  for (const auto& text : options.only_labels) only_.push_back(word(text));
  for (const auto& entry : options.label_map) {
    const auto [name, value] = split_entry(entry, "data.label_map");
    map_.emplace_back(word(name), option_number(value, "data.label_map"));
  }
  if (!thin) return;
  for (const auto& entry : options.keep_one_in) {
    const auto [name, value] = split_entry(entry, "data.keep_one_in");
    thinning_.push_back({word(name), static_cast<std::uint64_t>(option_number(value, "data.keep_one_in"))});
  }
}

template <class TextOf>
float LabelRule::check(double value, TextOf&& raw_text) const {
  switch (kind_) {
    case LabelKind::sign:
      if (value == 1) return 1;
      if (value == -1 || value == 0) return -1;
      throw Malformed(
          fmt::format(
              "label {} is not allowed: -1 or +1 (or 0 or 1) are; data.positive names other labels that become +1",
              show_field(raw_text())),
          Malformed::label);
    case LabelKind::class_:
      if (value >= 0 && value < static_cast<double>(classes_) && value == std::floor(value))
        return static_cast<float>(value);
      throw Malformed(
          fmt::format("label {} is not allowed: whole numbers 0 to {} are; data.label_map renames labels",
                      show_field(raw_text()), classes_ - 1),
          Malformed::label);
    case LabelKind::count:
      if (value >= 0 && value <= largest_count && value == std::floor(value)) return static_cast<float>(value);
      throw Malformed(
          fmt::format("label {} is not allowed: counts 0, 1, 2, ... up to 2^24 are; data.label_map renames labels",
                      show_field(raw_text())),
          Malformed::label);
    case LabelKind::real:
      break;
  }
  return to_feature(value);
}

float LabelRule::decode(std::string_view raw, std::uint64_t global_index) const {
  const std::string_view text = trim(raw);
  if (is_missing(text)) throw Malformed(fmt::format("label is missing ({})", show_field(text)), Malformed::label);
  return decode(name_of(text), global_index);
}

float LabelRule::decode(double raw, std::uint64_t global_index) const {
  if (!std::isfinite(raw))
    throw Malformed(fmt::format("label {} is not finite", show_field(fmt::format("{}", raw))), Malformed::label);
  return decode_number(raw, global_index);
}

float LabelRule::decode(std::int64_t raw, std::uint64_t global_index) const {
  return decode_number(raw, global_index);
}

float LabelRule::decode(std::uint64_t raw, std::uint64_t global_index) const {
  return decode_number(raw, global_index);
}

template <class Number>
float LabelRule::decode_number(Number raw, std::uint64_t global_index) const {
  const auto value = static_cast<double>(raw);
  if (by_value()) return check(value, [&] { return fmt::format("{}", raw); });
  return decode(Name{fmt::format("{}", raw), value}, global_index);
}

float LabelRule::decode(const Name& raw, std::uint64_t global_index) const {
  if (!only_.empty() && std::find(only_.begin(), only_.end(), raw) == only_.end())
    return std::numeric_limits<float>::quiet_NaN();
  double value = raw.number.value_or(0);
  if (!positive_.empty()) {
    value = std::find(positive_.begin(), positive_.end(), raw) != positive_.end() ? 1 : -1;
  } else if (!map_.empty()) {
    const auto entry = std::find_if(map_.begin(), map_.end(), [&](const auto& e) { return e.first == raw; });
    if (entry == map_.end())
      throw Malformed(fmt::format("label {} is not in data.label_map", show_field(raw.text)), Malformed::label);
    value = entry->second;
  } else if (!raw.number) {
    throw Malformed(
        fmt::format("label {} is not a finite number: set data.positive (one group against the rest) or "
                    "data.label_map (name:number)",
                    show_field(raw.text)),
        Malformed::label);
  }
  const float label = check(value, [&] { return raw.text; });
  for (const Thinning& t : thinning_)
    if (t.name == raw && thinning_stream_.below(global_index, t.one_in) != 0)
      return std::numeric_limits<float>::quiet_NaN();
  return label;
}

}  // namespace dpmpi
