#pragma once
// What events promise to somebody who has several records.

#include <cstdint>
#include <vector>

#include "privacy/events/event.hpp"

namespace dpmpi {

/// Events whose bounds hold for neighbours that differ in up to `size` records (or other units), where these events
/// are for one. Upper bounds: what samples hide of a group is bounded by the chance that one of it is drawn
/// (docs/theory/persons.md, "Groups"). Throws PrivacyError for events of which nothing is known for groups.
std::vector<Event> of_group(const std::vector<Event>& events, std::uint64_t size);

}  // namespace dpmpi
