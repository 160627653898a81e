#pragma once
// A plugin's stand-in for planning, where its library must not be loaded: somebody else's run is looked at.

#include <cstddef>
#include <memory>

#include "objective/objective.hpp"

namespace dpmpi {

/// Says of itself what `plugin` with `dim` parameters says: it has losses and nothing else. Has no losses to give.
std::unique_ptr<Objective> unloaded_plugin(std::size_t dim);

}  // namespace dpmpi
