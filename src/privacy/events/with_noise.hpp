#pragma once
// The same releases with more noise, or less.

#include <vector>

#include "privacy/events/event.hpp"

namespace dpmpi {

/// These events where all noise is `factor` times as large: noise multipliers and scales grow with it. Mechanisms
/// that are known by their guarantee alone get the guarantee of Gaussian noise that grew: mu and epsilon are
/// divided by the factor, rho by its square. factor > 0.
std::vector<Event> with_noise(std::vector<Event> events, double factor);

}  // namespace dpmpi
