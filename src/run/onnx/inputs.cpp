#include "run/onnx/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/columns/coding.hpp"
#include "data/formats/table.hpp"
#include "data/load/input_files.hpp"
#include "data/records/labels.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// The features of a word, or NaN in all of them if records with it are refused.
std::vector<double> row_of(const ColumnCode& code, const std::string& word) {
  std::vector<double> row(code.width(), 0.0);
  try {
    code.read(word, [&](std::size_t feature, double x) { row[feature] = x; });
  } catch (const Malformed&) {
    std::ranges::fill(row, unknown);
  }
  return row;
}

/// All words that mean "missing".
std::vector<std::string> missing_words(const ColumnRule& rule) {
  if (rule.missing) return *rule.missing;
  std::vector<std::string> usual{"", "?", "NA"};
  std::erase_if(usual, [&](const std::string& word) { return !rule.is_missing_word(word); });
  return usual;
}

NumberInput number_input(const ColumnRule& rule, const ColumnCode& code, std::size_t feature) {
  const bool date = rule.kind == ColumnKind::date;
  NumberInput input{
      .name = rule.name,
      .about = date ? "days since 1970-01-01, NaN where the date is missing" : "NaN where it is missing",
      .feature = feature,
      .center = date ? rule.from_day : rule.center,
      .width = date ? rule.unit_days : rule.width};
  if (rule.low) input.low = *rule.low, input.high = *rule.high;
  if (rule.indicator) input.indicator = feature + code.width() - 1;
  if (const auto words = missing_words(rule); !words.empty()) input.missing = row_of(code, words.front()).front();
  return input;
}

WordInput word_input(const ColumnRule& rule, const ColumnCode& code, std::size_t feature) {
  WordInput input{
      .name = rule.name, .feature = feature, .width = code.width(), .words = missing_words(rule), .rows = {}};
  for (const auto* const words : {&rule.words, &rule.yes, &rule.no})
    input.words.insert(input.words.end(), words->begin(), words->end());
  const auto add = [&](const std::vector<double>& row) {
    input.rows.insert(input.rows.end(), row.begin(), row.end());
  };
  for (const std::string& word : input.words) add(row_of(code, word));
  // Of all other words one does for all: it is none of them, whatever they are.
  std::string other = "other";
  while (std::ranges::find(input.words, other) != input.words.end()) other += '_';
  add(row_of(code, other));
  return input;
}

ModelInputs inputs_by_file(const ReadingRules& rules) {
  ModelInputs inputs;
  for (const ColumnRule& rule : rules.columns_file->columns) {
    const bool exposure = rule.kind == ColumnKind::exposure;
    if (!makes_features(rule) && !exposure) continue;
    const ColumnCode code(rule, rules.columns_file->place(rule), false);
    if (exposure) {
      inputs.exposure = number_input(rule, code, 0);
      inputs.exposure->about += "; counts are for it, and rates where it is 1";
      inputs.order.push_back(rule.name);
      continue;
    }
    if (rule.kind == ColumnKind::number || rule.kind == ColumnKind::date)
      inputs.numbers.push_back(number_input(rule, code, inputs.features));
    else
      inputs.words.push_back(word_input(rule, code, inputs.features));
    inputs.order.push_back(rule.name);
    inputs.features += code.width();
  }
  return inputs;
}

NumberInput number_input(const std::string& name, std::size_t feature, const FeatureMap& map,
                         const std::optional<double>& missing) {
  return {.name = name,
          .about = missing ? "NaN where it is missing" : "",
          .feature = feature,
          .center = map.mean(feature),
          .width = map.deviation(feature),
          .missing = missing ? static_cast<double>(map(feature, *missing)) : unknown};
}

WordInput word_input(const TableColumn& column, const FeatureMap& map, bool zero_if_unknown) {
  const std::size_t width = column.words.size();
  WordInput input{
      .name = column.name, .feature = column.feature, .width = width, .words = column.words, .rows = {}};
  for (std::size_t row = 0; row <= width; ++row)
    for (std::size_t w = 0; w < width; ++w)
      input.rows.push_back(row < width || zero_if_unknown
                               ? static_cast<double>(map(column.feature + w, row == w ? 1 : 0))
                               : unknown);
  return input;
}

ModelInputs inputs_by_schema(const TableSchema& schema, const FeatureMap& map, bool named) {
  ModelInputs inputs{.scale = map.scale(), .features = schema.features};
  for (const TableColumn& column : schema.columns) {
    if (column.use == TableColumn::Use::number)
      inputs.numbers.push_back(number_input(column.name, column.feature, map, schema.missing));
    else if (column.use == TableColumn::Use::one_hot)
      inputs.words.push_back(word_input(column, map, schema.zero_if_unknown));
    else
      continue;
    inputs.order.push_back(column.name);
  }
  inputs.together = !named && inputs.words.empty();
  return inputs;
}

ModelInputs plain_numbers(std::uint64_t features, const FeatureMap& map) {
  ModelInputs inputs{.together = true, .scale = map.scale(), .features = features};
  for (std::size_t f = 0; f < features; ++f)
    inputs.numbers.push_back(number_input(fmt::format("{}", f + 1), f, map, std::nullopt));
  return inputs;
}

ModelInputs inputs_by_source(const Source& source, const ReadingRules& rules) {
  const FeatureMap map = source.feature_map(rules);
  if (const TableSchema* const schema = source.format->schema())
    return inputs_by_schema(*schema, map, !source.layout.feature_names.empty());
  return plain_numbers(source.layout.features, map);
}

ModelInputs inputs_by_table(const Dataset& dataset) {
  const ShowFields show(dataset.shows_values());
  return inputs_by_source(open_source(Communicator::alone(), dataset, dataset.first()), dataset.rules);
}

/// By the first lines of data.eval, or else of the training file, if they are here and fit.
std::optional<ModelInputs> inputs_by_run(const DataFiles& files) {
  for (const Dataset* const dataset : {&files.evaluation, &files.training}) {
    if (dataset->seen().empty()) continue;
    try {
      return inputs_by_table(*dataset);
    } catch (const Error&) {  // not the file that it was
    }
  }
  return {};
}

bool has_colon(const std::vector<std::string>& entries) {
  return std::ranges::any_of(entries, [](const std::string& entry) { return entry.find(':') != entry.npos; });
}

/// Settings alone, where they say enough: columns have their numbers then.
ModelInputs inputs_by_settings(const ReadingRules& rules, std::uint64_t features) {
  const bool table = rules.format == "csv" || rules.format == "tsv" || !rules.one_hot.empty();
  const bool by_number = has_colon(rules.mean) || has_colon(rules.deviation);
  if (!table && rules.format == "auto" && by_number)
    throw ConfigError("data.mean or data.std name features, and data.format = auto does not say of what");
  if (!table || (rules.one_hot.empty() && !by_number)) {
    const FeatureMap map(rules, features, [&](const std::string& name) { return feature_number(name, features); });
    ModelInputs inputs = plain_numbers(features, map);
    if (!rules.missing.empty())
      for (NumberInput& number : inputs.numbers)
        number = number_input(number.name, number.feature, map, option_number(rules.missing, "data.missing"));
    return inputs;
  }
  std::size_t columns = features + rules.one_hot.size() + rules.drop.size() + (rules.label == no_label ? 0 : 1) +
                        (rules.person.empty() ? 0 : 1);
  for (const std::string& entry : rules.one_hot) columns -= split_words(entry.substr(entry.find(':') + 1)).size();
  std::vector<std::string> names;
  for (std::size_t c = 1; c <= columns; ++c) names.push_back(fmt::format("{}", c));
  const TableSchema schema(names, rules);
  const FeatureMap map(rules, schema.features, [&](const std::string& name) { return schema.feature_of(name); });
  return inputs_by_schema(schema, map, false);
}

ModelInputs inputs_without_columns_file(const ModelToScore& model, std::uint64_t features) {
  if (!model.files.given.empty()) return inputs_by_table(model.files.given);
  if (auto inputs = inputs_by_run(model.files)) return *std::move(inputs);
  try {
    return inputs_by_settings(model.files.scored().rules, features);
  } catch (const ConfigError& problem) {
    throw ConfigError(fmt::format(
        "the columns of the table are not known here: name a table that has them with --data FILE, of which only "
        "the first lines are read\n  {}",
        problem.what()));
  }
}

}  // namespace

ModelInputs inputs_of(const ModelToScore& model, std::uint64_t features) {
  const ReadingRules& rules = model.files.scored().rules;
  ModelInputs inputs = rules.columns_file ? inputs_by_file(rules) : inputs_without_columns_file(model, features);
  if (inputs.features != features)
    throw DataError(fmt::format("{} features come from these columns, the records of the run had {}",
                                inputs.features, features));
  inputs.unit_norm = rules.normalize == "l2";
  return inputs;
}

}  // namespace dpmpi
