#pragma once
// objective.layers as text: "conv 16 3x3 pad 1, relu, residual(conv 16 3x3 pad 1, relu), flatten, dense 10".

#include <string>
#include <string_view>
#include <vector>

#include "objective/layers/kinds.hpp"

namespace dpmpi {

/// Appends a problem for every layer that cannot be read, by its place in the list ("layer 3", "layer 4.1"
/// within parentheses). `option`: whose text it is.
LayerPlans read_layers(std::string_view text, std::vector<std::string>& problems,
                       std::string_view option = "layers");

/// CHANNELSxHEIGHTxWIDTH, or a number alone. Appends a problem, and returns a volume without numbers, if it is
/// none of them.
Volume read_volume(std::string_view text, std::vector<std::string>& problems);

}  // namespace dpmpi
