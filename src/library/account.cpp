#include "dpmpi/dpmpi.hpp"

#include <sstream>

#include <fmt/format.h>

#include "core/files/untrusted_json.hpp"
#include "library/guarded.hpp"
#include "privacy/events/ledger.hpp"
#include "privacy/promise/guarantee.hpp"

namespace dpmpi {
namespace {

/// How many trainings a search had follows from what was released, so all that were planned count: its training
/// ledger holds fewer events than have to be accounted for.
void refuse_training_ledger(const std::string& events) {
  if (parse_untrusted_json(events.substr(0, events.find('\n')), "events:1").contains("trainings"))
    throw PrivacyError(
        "a ledger of a search's trainings costs what was planned, not what it holds: dpmpi account knows how");
}

library::Guarantee accounted(const std::string& events, double delta, const std::string& accountant) {
  if (!(delta > 0 && delta < 1)) throw ConfigError(fmt::format("delta is {}, allowed: a number in (0, 1)", delta));
  std::istringstream lines(events);
  const EventList list = read_events(lines, "events");
  if (list.events.empty() && !list.header)
    throw PrivacyError("there are no events: there is nothing to account for");
  if (list.header) refuse_training_ledger(events);
  std::vector<Event> all = list.events;
  if (list.header && list.header->seeded) all.push_back({NonPrivate{}, 1});
  const Adjacency adjacency = list.header ? list.header->adjacency : Adjacency::add_remove;
  const dpmpi::Guarantee found = epsilon_guarantee(all, adjacency, delta, accountant);
  return {found.epsilon, found.delta, std::string(name(adjacency))};
}

}  // namespace

namespace library {

Guarantee account(const std::string& events, double delta, const std::string& accountant) {
  return guarded([&] { return accounted(events, delta, accountant); });
}

}  // namespace library
}  // namespace dpmpi
