#pragma once
// How scores follow from the features of a record, where that is dense layers one behind the other: for those who
// write a model down in other words.

#include <cstddef>
#include <optional>
#include <vector>

namespace dpmpi {

enum class Activation {
  relu,
  leaky_relu,  ///< s for s > 0, leak * s below
  tanh,
  softplus
};
inline constexpr float leak = 0.2F;

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
  bool sigmoid = false;  ///< scores are 1 / (1 + exp(-s)) of what comes out
};

/// Parameters W, then b, if the records have a constant.
inline ScoreLayers one_layer(std::size_t features, std::size_t outputs, float constant) {
  return {{{features, outputs, 0, features * outputs, constant}}};
}

}  // namespace dpmpi
