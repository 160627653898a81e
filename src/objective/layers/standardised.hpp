#pragma once
// Layers whose weights are standardised.

#include <cstddef>
#include <functional>
#include <memory>

#include "objective/layers/kinds.hpp"

namespace dpmpi {

/// The same layer at standardised weights. Its parameters are weights, `inputs` (of what comes in) by channels
/// behind, and a bias for each of the latter.
std::shared_ptr<const LayerPlan> standardised(std::shared_ptr<const LayerPlan> plan,
                                              std::function<std::size_t(const Volume&)> inputs);

}  // namespace dpmpi
