#pragma once
#include <string>
#include <vector>

#include "objective/objective.hpp"

namespace dpmpi {

/// What data.label_map, or the columns file in its place, calls the classes 0, 1, ... of an objective; a class of
/// several words, or of none, has its number, and so have all if a number is the word of another class. Empty for
/// labels that are no classes. Local.
std::vector<std::string> class_names(const Objective& objective, const std::vector<std::string>& label_map);

}  // namespace dpmpi
