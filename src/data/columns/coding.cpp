#include "data/columns/coding.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/columns/day.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

class NumberCoding final : public ColumnCoding {
 public:
  NumberCoding(const ColumnRule& rule, bool decimal_comma) : rule_(rule), decimal_comma_(decimal_comma) {}
  CodedField code(std::string_view field) const override {
    double x = 0;
    if (!to_number(field, decimal_comma_, x))
      throw Malformed(decimal_comma_ ? "is not a finite number with a decimal comma" : "is not a finite number");
    return of_number(x);
  }
  CodedField of_number(double x) const override {
    if (rule_.low) x = std::clamp(x, *rule_.low, *rule_.high);
    return {0, (x - rule_.center) / rule_.width};
  }

 private:
  ColumnRule rule_;
  bool decimal_comma_;
};

class WordCoding final : public ColumnCoding {
 public:
  void add(const std::string& word, CodedField coded) { words_.emplace(word, coded); }
  void otherwise(CodedField coded) { otherwise_ = coded; }
  CodedField code(std::string_view field) const override {
    if (const auto found = words_.find(field); found != words_.end()) return found->second;
    if (otherwise_) return *otherwise_;
    throw Malformed("is none of its words");
  }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, CodedField, Hash, std::equal_to<>> words_;
  std::optional<CodedField> otherwise_;
};

class DateCoding final : public ColumnCoding {
 public:
  explicit DateCoding(const ColumnRule& rule)
      : pattern_(rule.format), from_(rule.from_day), unit_(rule.unit_days) {}
  CodedField code(std::string_view field) const override {
    const auto days = pattern_.days(field);
    if (!days) throw Malformed(fmt::format("is not a date of the calendar in the format {}", pattern_.text()));
    return {0, (*days - from_) / unit_};
  }

 private:
  DatePattern pattern_;
  double from_, unit_;
};

std::shared_ptr<const ColumnCoding> word_coding(const ColumnRule& rule) {
  const auto coding = std::make_shared<WordCoding>();
  for (const std::string& word : rule.yes) coding->add(word, {0, 1});
  for (const std::string& word : rule.no) coding->add(word, {0, 0});
  for (const std::string& word : rule.rare) coding->add(word, {rule.rare_feature(), 1});
  const bool ordered = rule.kind == ColumnKind::ordinal;
  for (std::size_t w = 0; w < rule.words.size(); ++w)
    coding->add(rule.words[w],
                ordered ? CodedField{0, static_cast<double>(w) / static_cast<double>(rule.words.size() - 1)}
                        : CodedField{w, 1});
  if (rule.other) coding->otherwise({rule.words.size(), 1});
  return coding;
}

std::shared_ptr<const ColumnCoding> coding_of(const ColumnRule& rule, bool decimal_comma) {
  if (rule.kind == ColumnKind::number || is_factor(rule.kind))
    return std::make_shared<NumberCoding>(rule, decimal_comma);
  if (rule.kind == ColumnKind::date) return std::make_shared<DateCoding>(rule);
  return word_coding(rule);
}

bool takes_all_numbers(const ColumnRule& rule) {
  double x = 0;
  const auto is_number = [&](const std::string& word) { return to_number(word, x); };
  return (rule.kind == ColumnKind::number || is_factor(rule.kind)) &&
         !(rule.missing && std::ranges::any_of(*rule.missing, is_number));
}

std::vector<std::string> names_of_features(const ColumnRule& rule) {
  std::vector<std::string> names;
  if (rule.kind == ColumnKind::category)
    for (const std::string& word : rule.words) names.push_back(rule.name + "=" + word);
  else
    names.push_back(rule.name);
  if (rule.other) names.push_back(rule.name + " is another word");
  if (rule.indicator) names.push_back(rule.name + " is missing");
  return names;
}

}  // namespace

ColumnCode::ColumnCode(const ColumnRule& rule, std::string place, bool decimal_comma)
    : rule_(rule),
      place_(std::move(place)),
      coding_(coding_of(rule, decimal_comma)),
      names_(names_of_features(rule)),
      takes_numbers_(takes_all_numbers(rule)) {
  if (!rule.impute) return;
  try {  // the columns file has decimal points
    imputed_ = coding_of(rule, false)->code(*rule.impute);
  } catch (const Malformed& problem) {
    throw ConfigError(fmt::format("impute={}: it {}", show(*rule.impute), problem.what()));
  }
}

CodedField ColumnCode::code(std::string_view field) const {
  try {
    return coding_->code(field);
  } catch (const Malformed& problem) {
    throw Malformed(
        fmt::format("{} {} ({} says {})", show_field(field), problem.what(), place_, column_kind_name(rule_.kind)));
  }
}

void ColumnCode::refuse_missing(std::string_view field) const {
  throw Malformed(
      fmt::format("missing value {}: {} says neither impute= (the public value that it counts as) nor indicator",
                  show_field(field), place_));
}

std::vector<FeatureRange> features_of_columns(const ColumnsFile& file) {
  std::vector<FeatureRange> all;
  std::size_t before = 0;
  for (const ColumnRule& rule : file.columns) {
    const std::size_t width = makes_features(rule) ? ColumnCode(rule, file.place(rule), false).width() : 0;
    all.push_back({before + 1, before + width});
    before += width;
  }
  return all;
}

}  // namespace dpmpi
