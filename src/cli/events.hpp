#pragma once
// What `account` and `calibrate` share: reading events from a file or a pipe, and answers as text or JSON.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "privacy/events/event.hpp"
#include "privacy/promise/guarantee.hpp"

namespace dpmpi {

/// The whole of `path`; "-" is standard input. Throws DataError with the reason.
std::string read_text(const std::string& path);
/// What messages call it.
std::string shown_path(const std::string& path);

/// The adjacency of a list of events: the header's, or what was asked for, or add_remove. Throws PrivacyError if
/// the two contradict each other.
Adjacency adjacency_of(const std::optional<EventHeader>& header, const std::optional<Adjacency>& asked,
                       const std::string& path);

/// A number as JSON; infinity, which JSON does not have, as "infinity".
std::string json_value(double x);
/// {"key": value, ...}.
std::string json_members(const std::vector<std::pair<std::string, double>>& values);
/// Lines that say which accountants apply, with their bounds, and why the others do not.
std::string evidence(const Guarantee& guarantee);

}  // namespace dpmpi
