#pragma once
// Reads the lines of a file of events one after another. A ledger of a long run says one thing many times, of other
// steps: a line that differs from one that was parsed in nothing but the steps and the link to the line above is
// not parsed again.

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "privacy/events/event.hpp"

namespace dpmpi {

class EventReader {
 public:
  /// As parse_event_line: the same result, and the same errors.
  EventLine read(std::string_view line, std::string_view where);

 private:
  std::string pattern_;  // of the line that is read
  std::unordered_map<std::string, Event> known_;
};

}  // namespace dpmpi
