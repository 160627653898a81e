#pragma once
// Gaussian noise on a Poisson sample, seen by somebody who has several of the records.

#include "privacy/events/event.hpp"
#include "privacy/loss_distributions/pairs.hpp"

namespace dpmpi {

/// P = sum_j Bin(records, rate)(j) N(j, z^2), Q = N(0, z^2): as many of the group's records as are drawn, all of
/// them moving the sum by a whole clip in the same direction. Dominates every group of as many records under
/// add_remove (docs/theory/persons.md, "Poisson samples"). For rates below 1.
LossPair group_pair(const PoissonGaussianGroup& group);

}  // namespace dpmpi
