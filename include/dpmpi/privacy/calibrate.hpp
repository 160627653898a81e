#pragma once
// How much noise a privacy promise needs.

#include <functional>
#include <vector>

#include "dpmpi/privacy/event.hpp"

namespace dpmpi {

/// The promise (epsilon, delta) under an adjacency.
struct PrivacyTarget {
  double epsilon = 1;  ///< > 0, finite
  double delta = 0;    ///< in (0, 1)
  Adjacency adjacency = Adjacency::add_remove;
};

/// All events of a plan, as a function of one noise multiplier (a plan with several mechanisms scales them all by
/// it).
using EventsOfNoise = std::function<std::vector<Event>(double noise_multiplier)>;

/// The smallest noise multiplier, rounded up to 6 decimals and at least 7 significant digits, with which the plan
/// keeps the target under the RDP accountant. The promise is re-verified on the rounded value: the target is never
/// overshot. Throws PrivacyError if no multiplier up to 1e7 keeps it (part of the plan does not depend on the
/// multiplier, or epsilon is below what Renyi orders up to 1024 can show).
double calibrate_noise(const EventsOfNoise& events, const PrivacyTarget& target);

/// Smallest x in [low, high] on the same decimal grid with epsilon_of(x) <= epsilon, for a decreasing function.
/// Infinity if epsilon_of(high) > epsilon. The returned x has been evaluated.
double smallest_noise(const std::function<double(double)>& epsilon_of, double epsilon, double low, double high);

}  // namespace dpmpi
