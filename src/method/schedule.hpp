#pragma once
// How long a run is, where it is given as passes over the data, and what its steps sample.

#include <cstdint>
#include <string_view>

#include "data/records/sampling.hpp"

namespace dpmpi {

/// As many steps as an option may ask for.
inline constexpr double most_steps = 0x1p40;

/// ceil(epochs * records / batch), at least 1. `batch`: records of a step, expected. Throws ConfigError, naming
/// method.epochs, if that is more than most_steps. Local.
std::uint64_t steps_of_epochs(double epochs, std::uint64_t records, double batch);

/// The rule that method.sampling = full, poisson, balls_in_bins, wor or cyclic means for batches of `batch`
/// records; all records are the full batch, however they are sampled. Throws ConfigError, naming method.batch, if
/// there are fewer. Local.
SamplingRule sampling_rule(std::string_view sampling, std::int64_t batch, std::uint64_t records);

}  // namespace dpmpi
