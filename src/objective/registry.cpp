#include "core/registry.hpp"

#include "objective/objective.hpp"

namespace dpmpi {

const std::vector<ObjectiveEntry>& objectives() { return registered<ObjectiveEntry>(); }
ObjectiveRegistration::ObjectiveRegistration(ObjectiveEntry entry) { enter(std::move(entry)); }

}  // namespace dpmpi
