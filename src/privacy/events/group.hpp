#pragma once
// What events promise to somebody who has several records.

#include <cstdint>
#include <vector>

#include "privacy/events/event.hpp"

namespace dpmpi {

/// A sample that holds all of the group's records if it would hold one of them, which tells no less: upper bound.
PoissonGaussian drawn_together(const PoissonGaussianGroup& group);

/// The chance that noise which ends at `radius` standard deviations does not hide what is drawn of the group: how
/// likely a pair of its values is farther out than what the shift leaves, on average over samples.
double chance_beyond(const PoissonGaussianGroup& group, double radius);

/// Events whose bounds hold for neighbours that differ in up to `size` records (or other units), where these events
/// are for one. Upper bounds (docs/theory/persons.md, "Groups"). Throws PrivacyError for events of which nothing is
/// known for groups.
std::vector<Event> of_group(const std::vector<Event>& events, std::uint64_t size);

}  // namespace dpmpi
