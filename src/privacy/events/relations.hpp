#pragma once
// What ranges of single members do not say: how the members of one event go together. Private to the events.

#include <string_view>

#include "privacy/events/event.hpp"

namespace dpmpi {

/// Throw the PrivacyError of refuse() where the bounds of an event are not known, or take forever. Local.
void check_relations(const HiddenState& m, std::string_view where);
void check_relations(const Tree& m, std::string_view where);
void check_relations(const CyclicPoissonGaussian& m, std::string_view where);
void check_relations(const RandomAllocationGaussian& m, std::string_view where);

}  // namespace dpmpi
