// From inputs to features.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "run/onnx/score_nodes.hpp"

namespace dpmpi {
namespace {

constexpr const char* machine_learning = "ai.onnx.ml";

/// What the inputs of numbers have in common, as a row of constants; one number if all are the same.
template <class Get>
std::string row_of_constants(OnnxGraph& graph, const char* name, const std::vector<NumberInput>& inputs,
                             Get&& get) {
  std::vector<double> row;
  for (const NumberInput& input : inputs) row.push_back(get(input));
  if (std::ranges::all_of(row, [&](double x) { return x == row.front(); })) return graph.number(name, row.front());
  return graph.constant(name, {1, row.size()}, std::span<const double>(row));
}

template <class Of>
bool any_number(const std::vector<NumberInput>& inputs, Of&& of) {
  return std::ranges::any_of(inputs, of);
}

/// NaN stays NaN, which Clip does not promise.
std::string within_ranges(OnnxGraph& graph, const std::vector<NumberInput>& inputs, std::string x) {
  if (!any_number(inputs, [](const NumberInput& n) { return std::isfinite(n.low); })) return x;
  const std::string low = row_of_constants(graph, "low", inputs, [](const NumberInput& n) { return n.low; });
  const std::string high = row_of_constants(graph, "high", inputs, [](const NumberInput& n) { return n.high; });
  x = graph.node("Where", {graph.node("Less", {x, low}), low, x});
  return graph.node("Where", {graph.node("Greater", {x, high}), high, x});
}

std::string scaled(OnnxGraph& graph, const ModelInputs& inputs, std::string x) {
  const std::vector<NumberInput>& numbers = inputs.numbers;
  x = within_ranges(graph, numbers, std::move(x));
  if (inputs.scale != 1) x = graph.node("Mul", {x, graph.number("scale", inputs.scale)});
  if (any_number(numbers, [](const NumberInput& n) { return n.center != 0; }))
    x = graph.node("Sub",
                   {x, row_of_constants(graph, "mean", numbers, [](const NumberInput& n) { return n.center; })});
  if (any_number(numbers, [](const NumberInput& n) { return n.width != 1; }))
    x = graph.node("Div",
                   {x, row_of_constants(graph, "std", numbers, [](const NumberInput& n) { return n.width; })});
  return x;
}

/// Values side by side, and which feature each of their columns is.
struct Columns {
  std::vector<std::string> values;
  std::vector<std::size_t> features;
  void add(std::string value, const std::vector<std::size_t>& of) {
    values.push_back(std::move(value));
    features.insert(features.end(), of.begin(), of.end());
  }
};

void add_numbers(OnnxGraph& graph, const ModelInputs& inputs, const std::string& x, Columns& columns) {
  const std::vector<NumberInput>& numbers = inputs.numbers;
  std::vector<std::size_t> features, indicators;
  std::vector<std::int64_t> indicated;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    features.push_back(numbers[i].feature);
    if (!numbers[i].indicator) continue;
    indicators.push_back(*numbers[i].indicator);
    indicated.push_back(static_cast<std::int64_t>(i));
  }
  std::string values = scaled(graph, inputs, x);
  if (any_number(numbers, [](const NumberInput& n) { return n.indicator || !std::isnan(n.missing); })) {
    const std::string missing = graph.node("IsNaN", {x});
    const std::string instead =
        row_of_constants(graph, "if_missing", numbers, [](const NumberInput& n) { return n.missing; });
    values = graph.node("Where", {missing, instead, values});
    if (!indicated.empty())
      columns.add(graph.cast(graph.columns(missing, indicated), OnnxType::float64), indicators);
  }
  columns.add(values, features);
}

/// A word's row in a table.
void add_words(OnnxGraph& graph, const WordInput& input, Columns& columns) {
  std::vector<std::int64_t> rows(input.words.size());
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  const std::string row = graph.node("LabelEncoder", {input.name},
                                     {{"keys_strings", input.words},
                                      {"values_int64s", rows},
                                      {"default_int64", static_cast<std::int64_t>(rows.size())}},
                                     machine_learning);
  const std::string table =
      graph.constant("words", {input.words.size() + 1, input.width}, std::span<const double>(input.rows));
  std::vector<std::size_t> features(input.width);
  std::iota(features.begin(), features.end(), input.feature);
  columns.add(graph.node("Flatten", {graph.node("Gather", {table, row})}), features);
}

/// Declares the inputs in the order of the table. Returns the numbers side by side.
std::string declare_inputs(OnnxGraph& graph, const ModelInputs& inputs) {
  if (inputs.together)
    return graph.input("features", OnnxType::float64, inputs.numbers.size(),
                       "the columns of a record, in their order");
  std::vector<std::string> numbers;
  for (const std::string& name : inputs.order) {
    const auto number = std::ranges::find(inputs.numbers, name, &NumberInput::name);
    if (inputs.exposure && inputs.exposure->name == name)
      graph.input(name, OnnxType::float64, 1, inputs.exposure->about);
    else if (number == inputs.numbers.end())
      graph.input(name, OnnxType::text, 1, "words");
    else
      numbers.push_back(graph.input(name, OnnxType::float64, 1, number->about));
  }
  return numbers.empty() ? "" : graph.side_by_side(numbers);
}

/// The columns as features 0, 1, ...
std::string in_order(OnnxGraph& graph, const Columns& columns) {
  const std::string all = graph.side_by_side(columns.values);
  if (std::ranges::is_sorted(columns.features)) return all;
  std::vector<std::int64_t> places(columns.features.size());
  for (std::size_t at = 0; at < places.size(); ++at) places[columns.features[at]] = static_cast<std::int64_t>(at);
  return graph.columns(all, places);
}

std::string rounded(OnnxGraph& graph, const std::string& x) {
  return graph.cast(graph.cast(x, OnnxType::float32), OnnxType::float64);
}

/// A record of zeros stays as it is.
std::string with_unit_norm(OnnxGraph& graph, const std::string& x) {
  const std::string square =
      graph.node("ReduceSumSquare", {x}, {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", std::int64_t{1}}});
  const std::string norm = graph.node("Sqrt", {square});
  const std::string positive = graph.node("Greater", {norm, graph.number("zero", 0)});
  return rounded(graph, graph.node("Div", {x, graph.node("Where", {positive, norm, graph.number("one", 1)})}));
}

/// The logarithm of an exposure within its range, rounded as that of a record.
std::string offset_of(OnnxGraph& graph, const NumberInput& exposure) {
  std::string x = within_ranges(graph, {exposure}, exposure.name);
  if (!std::isnan(exposure.missing))
    x = graph.node("Where",
                   {graph.node("IsNaN", {exposure.name}), graph.number("if_missing", exposure.missing), x});
  return rounded(graph, graph.node("Log", {x}));
}

}  // namespace

SeenInputs add_features(OnnxGraph& graph, const ModelInputs& inputs) {
  const std::string numbers = declare_inputs(graph, inputs);
  Columns columns;
  if (!inputs.numbers.empty()) add_numbers(graph, inputs, numbers, columns);
  for (const WordInput& words : inputs.words) add_words(graph, words, columns);
  const std::string features = rounded(graph, in_order(graph, columns));
  return {.width = inputs.features,
          .features = inputs.unit_norm ? with_unit_norm(graph, features) : features,
          .offset = inputs.exposure ? offset_of(graph, *inputs.exposure) : ""};
}

}  // namespace dpmpi
