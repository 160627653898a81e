#include "run/onnx/score_nodes.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

/// The parameters of a group, under its name in the model file.
std::string parameters_at(OnnxGraph& graph, const Objective& objective, std::span<const float> w,
                          std::size_t offset, const OnnxGraph::Shape& shape) {
  for (const ParameterGroup& group : objective.groups())
    if (group.offset == offset)
      return graph.cast(graph.constant(group.name, shape, w.subspan(offset, group.size())), OnnxType::float64);
  throw BugError("the parameters of a layer are a group");
}

std::string dense(OnnxGraph& graph, const Objective& objective, const ScoreLayers::Layer& layer,
                  std::span<const float> w, const std::string& from) {
  std::vector<std::string> inputs{from,
                                  parameters_at(graph, objective, w, layer.weight, {layer.outputs, layer.inputs})};
  if (layer.constant != 0) inputs.push_back(parameters_at(graph, objective, w, layer.bias, {layer.outputs}));
  return graph.node("Gemm", inputs, {{"transB", std::int64_t{1}}, {"beta", layer.constant}});
}

/// Nodes that all runtimes have for float64: LeakyRelu and Softplus are not among them.
std::string activated(OnnxGraph& graph, Activation activation, const std::string& x) {
  switch (activation) {
    case Activation::relu:
      return graph.node("Relu", {x});
    case Activation::leaky_relu:
      return graph.node("Max", {x, graph.node("Mul", {x, graph.number("leak", static_cast<double>(leak))})});
    case Activation::tanh:
      return graph.node("Tanh", {x});
    case Activation::softplus: {  // max(x, 0) + log(1 + exp(-|x|))
      const std::string e = graph.node("Exp", {graph.node("Neg", {graph.node("Abs", {x})})});
      const std::string rest = graph.node("Log", {graph.node("Add", {graph.number("one", 1), e})});
      return graph.node("Add", {graph.node("Relu", {x}), rest});
    }
  }
  throw BugError("an activation that has no nodes");
}

/// Adds 0, or NaN where a feature is no number: some runtimes make 0 of NaN in Relu and Max.
std::string no_number_if_a_feature_is_none(OnnxGraph& graph, const std::string& x, const std::string& features) {
  const std::string zeros = graph.node("Mul", {features, graph.number("zero", 0)});
  const std::int64_t one = 1;
  const std::string axes = graph.constant("axes", {1}, std::span(&one, 1));
  return graph.node("Add", {x, graph.node("ReduceSum", {zeros, axes}, {{"keepdims", one}})});
}

/// Of features those that are inputs of the model.
std::string without(OnnxGraph& graph, const std::string& features, std::size_t left_out, std::size_t inputs) {
  std::vector<std::int64_t> others;
  for (std::size_t f = 0; f <= inputs; ++f)
    if (f != left_out) others.push_back(static_cast<std::int64_t>(f));
  return graph.columns(features, others);
}

}  // namespace

std::string add_scores(OnnxGraph& graph, const Objective& objective, const ScoreLayers& layers,
                       std::span<const float> parameters, const SeenInputs& seen) {
  std::string x = seen.features;
  if (const auto left_out = objective.left_out_feature())
    x = without(graph, x, *left_out, layers.layers.front().inputs);
  const std::string first = x;
  for (std::size_t l = 0; l < layers.layers.size(); ++l) {
    if (l > 0) x = activated(graph, layers.activation, x);
    x = dense(graph, objective, layers.layers[l], parameters, x);
  }
  if (layers.layers.size() > 1) x = no_number_if_a_feature_is_none(graph, x, first);
  if (layers.sigmoid) x = graph.node("Sigmoid", {x});
  if (!seen.offset.empty()) x = graph.node("Add", {x, seen.offset});
  return graph.cast(x, OnnxType::float32);
}

}  // namespace dpmpi
