#pragma once
// What attackers find at any rate of false alarms: the whole curve, for pictures.

#include <vector>

#include "privacy/promise/guarantee.hpp"

namespace dpmpi {

/// Upper bounds on the true-positive rates at these false-positive rates in (0, 1): by the guarantee, and by the
/// deltas of each of its accountants (guarantee.by) at a row of epsilons, every one of which bounds all rates.
/// Local.
std::vector<double> attacker_curve(const std::vector<Event>& events, Adjacency adjacency,
                                   const Guarantee& guarantee, const std::vector<double>& rates);

}  // namespace dpmpi
