#pragma once
// The tensors of a model file that may be of other programs: its numbers may have other types, and stand in another
// order.

#include <span>
#include <string>
#include <vector>

#include "objective/objective.hpp"

namespace dpmpi {

/// The numbers of these groups, by their names; zeros for adapters that the file does not have. Types: F64, F32,
/// F16, BF16. Throws DataError that lists all that does not fit: tensors that are missing or nobody asked for,
/// shapes, types, numbers that are not finite.
std::vector<float> read_start_tensors(const std::string& path, std::span<const ParameterGroup> groups);

}  // namespace dpmpi
