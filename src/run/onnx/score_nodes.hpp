#pragma once
// A model as nodes of an ONNX graph: from inputs to features, from features to scores, from scores to what predict
// writes. All of it in float64, but for what dpmpi rounds to float32 itself, features and scores, and for what
// runtimes have for float32 alone.

#include <span>
#include <string>
#include <vector>

#include "objective/objective.hpp"
#include "run/onnx/graph.hpp"
#include "run/onnx/inputs.hpp"

namespace dpmpi {

/// What the model sees of its inputs.
struct SeenInputs {
  std::size_t width;     ///< inputs.features
  std::string features;  ///< N x width, float64, each a float32; NaN in those that no rule gives a value
  std::string offset;    ///< N x 1, float64, a float32: the logarithm of the exposure; empty: there is none
};
/// Adds the inputs.
SeenInputs add_features(OnnxGraph& graph, const ModelInputs& inputs);

/// The model's scores (N x outputs, float32).
std::string add_scores(OnnxGraph& graph, const Objective& objective, const ScoreRecipe& recipe,
                       std::span<const float> parameters, const SeenInputs& seen);

/// Adds the outputs, and returns their names. `classes`: names of the classes. The objective is at its parameters.
std::vector<std::string> add_outputs(OnnxGraph& graph, const Objective& objective,
                                     const std::vector<std::string>& classes, const std::string& scores);

}  // namespace dpmpi
