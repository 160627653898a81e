#include "run/onnx/score_nodes.hpp"

#include <utility>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

std::string_view operator_of(NumberFunction function) {
  switch (function) {
    case NumberFunction::absolute:
      return "Abs";
    case NumberFunction::exponential:
      return "Exp";
    case NumberFunction::logarithm:
      return "Log";
    case NumberFunction::negative:
      return "Neg";
    case NumberFunction::rectifier:
      return "Relu";
    case NumberFunction::root:
      return "Sqrt";
    case NumberFunction::sigmoid:
      return "Sigmoid";
    case NumberFunction::tanh:
      return "Tanh";
  }
  throw BugError("a function that has no operator");
}

std::string_view operator_of(PairFunction function) {
  switch (function) {
    case PairFunction::sum:
      return "Add";
    case PairFunction::difference:
      return "Sub";
    case PairFunction::product:
      return "Mul";
    case PairFunction::quotient:
      return "Div";
    case PairFunction::larger:
      return "Max";
  }
  throw BugError("a function of two numbers that has no operator");
}

std::int64_t whole(std::size_t n) { return static_cast<std::int64_t>(n); }

/// Nodes that all runtimes have for float64: LeakyRelu and Softplus are not among them. What they have for float32
/// alone, Conv and AveragePool, gets it. A value is N x its shape.
class OnnxScores final : public ScoreWriter {
 public:
  explicit OnnxScores(OnnxGraph& graph) : graph_(graph) {}

  /// Whether a number may have come of NaN: some runtimes make 0 of it in Relu and Max.
  bool may_hide_nan() const { return may_hide_nan_; }

  Value number(std::string_view name, double x) override { return graph_.number(name, x); }
  Value parameters(const Parameters& p) override { return graph_.cast(constant(p), OnnxType::float64); }
  Value function(NumberFunction of, const Value& x) override {
    may_hide_nan_ |= of == NumberFunction::rectifier;
    return graph_.node(operator_of(of), {x});
  }
  Value pair(PairFunction of, const Value& a, const Value& b) override {
    may_hide_nan_ |= of == PairFunction::larger;
    return graph_.node(operator_of(of), {a, b});
  }
  Value reshape(const Value& x, const Shape& shape) override {
    std::vector<std::int64_t> sizes{0};  // as it is: N
    for (const std::size_t size : shape) sizes.push_back(whole(size));
    return graph_.node("Reshape",
                       {x, graph_.constant("shape", {sizes.size()}, std::span<const std::int64_t>(sizes))});
  }
  Value repeat(const Value& x, const Shape& shape) override {
    std::vector<std::int64_t> sizes{1};  // as it is: N
    for (const std::size_t size : shape) sizes.push_back(whole(size));
    return graph_.node("Expand",
                       {x, graph_.constant("shape", {sizes.size()}, std::span<const std::int64_t>(sizes))});
  }
  Value mean(const Value& x) override {
    return graph_.node("ReduceMean", {x}, {{"axes", std::vector<std::int64_t>{-1}}, {"keepdims", std::int64_t{1}}});
  }
  Value dense(const Value& x, const Dense& layer) override {
    std::vector<std::string> inputs{x, parameters(layer.weights)};
    if (layer.bias) inputs.push_back(parameters(*layer.bias));
    return graph_.node("Gemm", inputs,
                       {{"transB", std::int64_t{layer.transposed ? 0 : 1}}, {"beta", layer.constant}});
  }
  Value convolution(const Value& x, const Parameters& weights, const Parameters& bias, const WindowShape& windows,
                    std::size_t groups) override {
    std::vector<OnnxAttribute> attributes = attributes_of(windows);
    if (groups > 1) attributes.emplace_back("group", whole(groups));
    attributes.emplace_back("pads", std::vector<std::int64_t>(4, whole(windows.padding)));
    return in_float32("Conv", x, {constant(weights), constant(bias)}, attributes);
  }
  Value largest_in(const Value& x, const WindowShape& windows) override {
    may_hide_nan_ = true;
    return graph_.node("MaxPool", {x}, attributes_of(windows));
  }
  Value mean_in(const Value& x, const WindowShape& windows) override {
    return in_float32("AveragePool", x, {}, attributes_of(windows));
  }

 private:
  Value constant(const Parameters& p) { return graph_.constant(p.name, p.shape, p.values); }
  Value in_float32(std::string_view op, const Value& x, std::vector<std::string> others,
                   const std::vector<OnnxAttribute>& attributes) {
    others.insert(others.begin(), graph_.cast(x, OnnxType::float32));
    return graph_.cast(graph_.node(op, others, attributes), OnnxType::float64);
  }
  static std::vector<OnnxAttribute> attributes_of(const WindowShape& windows) {
    return {{"kernel_shape", std::vector<std::int64_t>{whole(windows.height), whole(windows.width)}},
            {"strides", std::vector<std::int64_t>(2, whole(windows.stride))}};
  }

  OnnxGraph& graph_;
  bool may_hide_nan_ = false;
};

/// Adds 0, or NaN where a feature is no number.
std::string no_number_if_a_feature_is_none(OnnxGraph& graph, const std::string& x, const std::string& features) {
  const std::string zeros = graph.node("Mul", {features, graph.number("zero", 0)});
  const std::int64_t one = 1;
  const std::string axes = graph.constant("axes", {1}, std::span(&one, 1));
  return graph.node("Add", {x, graph.node("ReduceSum", {zeros, axes}, {{"keepdims", one}})});
}

/// Of so many features those that are inputs of the model.
std::string without(OnnxGraph& graph, const std::string& features, std::size_t left_out, std::size_t count) {
  std::vector<std::int64_t> others;
  for (std::size_t f = 0; f < count; ++f)
    if (f != left_out) others.push_back(whole(f));
  return graph.columns(features, others);
}

}  // namespace

std::string add_scores(OnnxGraph& graph, const Objective& objective, const ScoreRecipe& recipe,
                       std::span<const float> parameters, const SeenInputs& seen) {
  const auto left_out = objective.left_out_feature();
  const std::string first = left_out ? without(graph, seen.features, *left_out, seen.width) : seen.features;
  OnnxScores writer(graph);
  std::string x = recipe(writer, first, parameters);
  if (writer.may_hide_nan()) x = no_number_if_a_feature_is_none(graph, x, first);
  if (!seen.offset.empty()) x = graph.node("Add", {x, seen.offset});
  return graph.cast(x, OnnxType::float32);
}

}  // namespace dpmpi
