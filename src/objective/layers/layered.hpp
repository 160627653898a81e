#pragma once
// An objective whose model is a network of layers.

#include <memory>

#include "objective/class_weights.hpp"
#include "objective/layers/augmentation.hpp"
#include "objective/layers/record_pass.hpp"
#include "objective/network/shape.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

/// `outputs` scores under the loss of `head`. A record's gradient is the mean of those of its copies, if it is
/// augmented; its loss is that of itself. Throws ConfigError as check_layers() and check_augmentation().
std::unique_ptr<Objective> make_layered(LayeredShape shape, Head head, std::size_t outputs,
                                        ClassWeights class_weights = {}, const Augmentation& augmentation = {});

}  // namespace dpmpi
