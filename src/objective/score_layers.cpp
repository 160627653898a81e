#include "objective/score_layers.hpp"

#include <algorithm>
#include <utility>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

using Value = ScoreWriter::Value;

/// The parameters of a group, under its name in the model file.
ScoreWriter::Parameters parameters_at(const std::vector<ParameterGroup>& groups, std::span<const float> w,
                                      std::size_t offset, ScoreWriter::Shape shape) {
  const auto group = std::ranges::find(groups, offset, &ParameterGroup::offset);
  if (group == groups.end()) throw BugError("the parameters of a layer are a group");
  return {group->name, std::move(shape), w.subspan(offset, group->size())};
}

/// max(x, 0) + log(1 + exp(-|x|)).
Value softplus(ScoreWriter& writer, const Value& x) {
  const Value e =
      writer.function(NumberFunction::exponential,
                      writer.function(NumberFunction::negative, writer.function(NumberFunction::absolute, x)));
  const Value rest =
      writer.function(NumberFunction::logarithm, writer.pair(PairFunction::sum, writer.number("one", 1), e));
  return writer.pair(PairFunction::sum, writer.function(NumberFunction::rectifier, x), rest);
}

}  // namespace

Value write_activation(ScoreWriter& writer, Activation activation, const Value& x) {
  switch (activation) {
    case Activation::relu:
      return writer.function(NumberFunction::rectifier, x);
    case Activation::leaky_relu: {
      const Value leaked = writer.pair(PairFunction::product, x, writer.number("leak", static_cast<double>(leak)));
      return writer.pair(PairFunction::larger, x, leaked);
    }
    case Activation::tanh:
      return writer.function(NumberFunction::tanh, x);
    case Activation::softplus:
      return softplus(writer, x);
  }
  throw BugError("an activation that has no words");
}

ScoreLayers one_layer(std::size_t features, std::size_t outputs, float constant) {
  return {{{features, outputs, 0, features * outputs, constant}}};
}

ScoreRecipe recipe_of(ScoreLayers layers, std::vector<ParameterGroup> groups) {
  return [all = std::move(layers), of = std::move(groups)](ScoreWriter& writer, const Value& features,
                                                           std::span<const float> w) {
    Value x = features;
    for (std::size_t l = 0; l < all.layers.size(); ++l) {
      if (l > 0) x = write_activation(writer, all.activation, x);
      const ScoreLayers::Layer& layer = all.layers[l];
      ScoreWriter::Dense dense{.weights = parameters_at(of, w, layer.weight, {layer.outputs, layer.inputs}),
                               .bias = {},
                               .constant = layer.constant};
      if (layer.constant != 0) dense.bias = parameters_at(of, w, layer.bias, {layer.outputs});
      x = writer.dense(x, dense);
    }
    return x;
  };
}

}  // namespace dpmpi
