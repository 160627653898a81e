#pragma once
// How long a run is, where it is given as passes over the data.

#include <cstdint>

namespace dpmpi {

/// As many steps as an option may ask for.
inline constexpr double most_steps = 0x1p40;

/// ceil(epochs * records / batch), at least 1. `batch`: records of a step, expected. Throws ConfigError, naming
/// method.epochs, if that is more than most_steps. Local.
std::uint64_t steps_of_epochs(double epochs, std::uint64_t records, double batch);

}  // namespace dpmpi
