#include <algorithm>

#include "core/errors.hpp"
#include "objective/objective.hpp"

namespace dpmpi {
namespace {

// Built on first use: registrations run before main, in no particular order.
std::vector<ObjectiveEntry>& entries() {
  static std::vector<ObjectiveEntry> all;
  return all;
}

}  // namespace

const std::vector<ObjectiveEntry>& objectives() { return entries(); }

ObjectiveRegistration::ObjectiveRegistration(ObjectiveEntry entry) {
  auto& all = entries();
  const auto place =
      std::lower_bound(all.begin(), all.end(), entry.name,
                       [](const ObjectiveEntry& e, const std::string& name) { return e.name < name; });
  verify(place == all.end() || place->name != entry.name, "two objectives of the same name");
  all.insert(place, std::move(entry));
}

}  // namespace dpmpi
