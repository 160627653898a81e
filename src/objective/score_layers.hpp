#pragma once
// Scores that come of dense layers one behind the other.

#include <cstddef>
#include <vector>

#include "objective/objective.hpp"
#include "objective/score_writer.hpp"

namespace dpmpi {

enum class Activation {
  relu,
  leaky_relu,  ///< s for s > 0, leak * s below
  tanh,
  softplus
};
inline constexpr float leak = 0.2F;

/// The activation of each number.
ScoreWriter::Value write_activation(ScoreWriter& writer, Activation activation, const ScoreWriter::Value& x);

/// Layer l maps its input a to W a + b * constant, and the activation of that is the next one's input. What comes
/// out of the last one are the scores.
struct ScoreLayers {
  struct Layer {
    std::size_t inputs, outputs;
    std::size_t weight;  ///< where W stands among the parameters: outputs x inputs, row-major
    std::size_t bias;    ///< likewise b: outputs; there is none if constant is 0
    float constant;
  };
  std::vector<Layer> layers;
  Activation activation = Activation::relu;
};

/// Parameters W, then b, if the records have a constant.
ScoreLayers one_layer(std::size_t features, std::size_t outputs, float constant);

/// In a writer's words. Each W and b is one of the groups.
ScoreRecipe recipe_of(ScoreLayers layers, std::vector<ParameterGroup> groups);

}  // namespace dpmpi
