#include "objective/class_weights.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/columns/columns_file.hpp"
#include "data/records/labels.hpp"
#include "data/records/options.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

constexpr const char* class_weights_key = "objective.class_weights";

/// Where a word of data.positive and the words beside it stand among the classes.
constexpr std::size_t the_rest = 0, the_positive = 1;

/// From words of labels to classes, as files are read.
class ClassWords {
 public:
  ClassWords(const ReadingRules& rules, LabelKind kind, std::size_t classes)
      : rules_(rules), kind_(kind), classes_(classes), rule_(rules, kind, classes, false) {}

  std::size_t class_of(const std::string& word) const {
    float label = 0;
    try {
      label = rule_.decode(std::string_view(word), 0);
    } catch (const Malformed&) {
      throw ConfigError(fmt::format("{} is no label; {}", show(word), allowed()));
    }
    if (std::isnan(label)) throw ConfigError(fmt::format("data.only_labels leaves {} out", show(word)));
    return kind_ == LabelKind::sign ? (label > 0 ? the_positive : the_rest) : static_cast<std::size_t>(label);
  }

  /// Every word that is none of data.positive means the rest, misspelt ones too.
  bool says_rest_by_any_word() const { return kind_ == LabelKind::sign && !rules_.positive.empty(); }
  std::string positive() const { return fmt::format("{}", fmt::join(rules_.positive, ", ")); }
  std::string name_of(std::size_t k) const {
    if (kind_ != LabelKind::sign) return fmt::format("{}", k);
    return k == the_positive ? "+1" : "-1";
  }

 private:
  std::string allowed() const {
    std::vector<std::string> words;
    for (const std::string& entry : rules_.label_map) words.push_back(split_entry(entry, "data.label_map").name);
    if (!words.empty()) return fmt::format("labels are {}", fmt::join(words, ", "));
    if (kind_ == LabelKind::sign) return "labels are -1 and +1 (or 0 and 1)";
    return fmt::format("labels are 0 to {}", classes_ - 1);
  }

  const ReadingRules& rules_;
  LabelKind kind_;
  std::size_t classes_;
  LabelRule rule_;
};

double weight_in(const std::string& text) {
  double weight = 0;
  const bool number = to_number(text, weight);
  if (!number || !(weight >= ClassWeightOption::least && weight <= ClassWeightOption::most))
    throw ConfigError(
        fmt::format("the weight {} is not allowed: a number from {} to {} is (data.only_labels leaves a class out)",
                    show(text), ClassWeightOption::least, ClassWeightOption::most));
  return weight;
}

/// A gradient is clipped whatever its weight, so weights above 1 are mostly lost on it, and those of other classes
/// are not made less. Up to 1 they reach the sum.
std::vector<double> over_largest(std::vector<double> weights) {
  const double largest = *std::ranges::max_element(weights);
  for (double& weight : weights) weight /= largest;
  return weights;
}

/// The file's words for the labels, where there is one.
ReadingRules with_columns(const ReadingRules& rules) {
  ReadingRules all = rules;
  if (all.columns_file) all.columns_file->apply_to(all);
  return all;
}

}  // namespace

double ClassWeights::largest() const { return empty() ? 1 : *std::max_element(weights_.begin(), weights_.end()); }

void ClassWeightOption::declare_class_weights(Options& options) {
  options.add("class_weights", entries_,
              "label:weight, ...: how much losses of a class count (others weigh 1; only ratios matter)");
}

const ClassWeights& ClassWeightOption::class_weights() const {
  verify(resolved_ || entries_.empty(), "class weights are resolved before an objective is made");
  return weights_;
}

void ClassWeightOption::resolve(const ReadingRules& rules, LabelKind kind, std::size_t classes,
                                std::vector<std::string>& problems) {
  resolved_ = true;
  if (entries_.empty()) return;
  const auto problem = [&](const std::string& what) {
    const std::string said = what.starts_with(class_weights_key)
                                 ? what
                                 : fmt::format("{} = {}: {}", class_weights_key, fmt::join(entries_, ", "), what);
    if (std::ranges::find(problems, said) == problems.end()) problems.push_back(said);
  };
  std::vector<double> weights(kind == LabelKind::sign ? 2 : classes, 1.0);
  std::vector<std::string> named(weights.size());
  const ReadingRules read = with_columns(rules);
  std::optional<ClassWords> words;
  try {
    words.emplace(read, kind, classes);
  } catch (const ConfigError& unreadable) {  // labels that nobody could read, whatever they weigh
    if (std::ranges::find(problems, unreadable.what()) == problems.end()) problems.emplace_back(unreadable.what());
    return;
  }
  for (const std::string& entry : entries_) try {
      const auto [word, number] = split_entry(entry, class_weights_key);
      const double weight = weight_in(number);
      const std::size_t k = words->class_of(word);
      if (!named[k].empty())
        throw ConfigError(fmt::format("{} and {} are both of class {}, which has one weight", show(named[k]),
                                      show(word), words->name_of(k)));
      named[k] = word, weights[k] = weight;
    } catch (const ConfigError& wrong) {
      problem(wrong.what());
    }
  if (words->says_rest_by_any_word() && !named[the_rest].empty() && named[the_positive].empty())
    problem(fmt::format(
        "{} is none of data.positive ({}), so it would mean all other labels: give the weight of {} too",
        show(named[the_rest]), words->positive(), read.positive.front()));
  weights_ = ClassWeights(over_largest(std::move(weights)));
}

}  // namespace dpmpi
