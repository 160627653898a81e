#pragma once
// Gaussian noise on the steps of an epoch, of which a record takes part in one: it is drawn secretly and uniformly.

#include "privacy/events/event.hpp"
#include "privacy/loss_distributions/pairs.hpp"

namespace dpmpi {

/// With less, grids would be long, and a secret step hides little. With more, ratios are too close for doubles.
inline constexpr double least_allocation_noise = 0.3, most_allocation_noise = 0x1p30;

/// P = the mean of N(e_i, z^2 I) over i = 1..steps, Q = N(0, z^2 I): dominates a record's presence under add_remove
/// (docs/theory/random_allocation.md). P/Q is the mean of `steps` independent log-normal numbers under Q. `pair` is
/// one that lies above it, `attained` one that lies below. For selected = 1, steps >= 2 and noise from
/// least_allocation_noise to most_allocation_noise. Costs some 10^7 operations times log2(steps); remembers the
/// last ones.
DominatingPair allocation_pair(const RandomAllocationGaussian& allocation);

}  // namespace dpmpi
