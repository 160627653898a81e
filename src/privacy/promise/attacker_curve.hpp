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

/// Upper bound on the share of right guesses of somebody who has to say whether a record took part, where both are
/// equally likely; at least 1/2, which a coin reaches. By the same. Local.
double right_guesses(const std::vector<Event>& events, Adjacency adjacency, const Guarantee& guarantee);

}  // namespace dpmpi
