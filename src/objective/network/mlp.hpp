#pragma once
// Multilayer perceptrons: clipped gradients from one forward and one backward pass, by per-record ("ghost") norms.
//
// The gradient of a dense layer for one record is the outer product delta a~^T of the back-propagated row delta and
// the layer's input a~ = (a, bias), so its norm is |delta| |a~|, and the sum of clipped gradients is one product
// (diag(c) Delta)^T A~ per layer (Goodfellow, "Efficient per-example gradient computations", 2015).

#include <memory>

#include "objective/network/shape.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

/// An objective of the given shape for records of shape.units[0] features in any storage. A single layer
/// starts at zero, several start at random. Throws ConfigError if a layer has no unit.
std::unique_ptr<Objective> make_mlp(MlpShape shape);

/// Appends a problem if the number of classes, an option without a default, was not set.
void require_classes(std::size_t classes, std::vector<std::string>& problems);

}  // namespace dpmpi
