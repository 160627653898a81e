#pragma once
// An objective whose model is a network of layers.

#include <memory>

#include "objective/class_weights.hpp"
#include "objective/layers/kinds.hpp"
#include "objective/network/shape.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

/// For records of in.size() features, channel after channel; `outputs` scores under the loss of `head`. Throws
/// ConfigError that names the layer if the layers do not fit to each other, to `in` or to the outputs.
std::unique_ptr<Objective> make_layered(const LayerPlans& plans, const Volume& in, Head head, std::size_t outputs,
                                        ClassWeights class_weights = {});

}  // namespace dpmpi
