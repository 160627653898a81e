#pragma once
// The events that stand in plan.json, certificate.json and files like them, as the member `events`.

#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

/// One object for every mechanism, with all its uses.
inline nlohmann::ordered_json json_events(const std::vector<Event>& events) {
  auto merged = nlohmann::ordered_json::array();
  for (const auto& [mechanism, count] : uses(events))
    merged.push_back(nlohmann::ordered_json::parse(to_json({mechanism, count})));
  return merged;
}

/// One event as an object. Throws PrivacyError that begins with `place`.
template <class Json>
Event planned_event(const Json& object, const std::string& place) {
  const EventLine line = parse_event_line(object.dump(), place);
  if (const auto* event = std::get_if<Event>(&line.content)) return *event;
  throw PrivacyError(fmt::format("{}: a ledger's header is no event", place));
}

/// All of them. Throws DataError where there is no such list, PrivacyError at the first that is none.
template <class Json>
std::vector<Event> planned_events(const Json& object, const std::string& place) {
  if (!object.is_object() || !object.contains("events") || !object["events"].is_array())
    throw DataError(fmt::format("{}: has no list of events", place));
  std::vector<Event> events;
  for (const Json& event : object["events"]) events.push_back(planned_event(event, place + ": events"));
  return events;
}

}  // namespace dpmpi
