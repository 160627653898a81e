#pragma once
// What `account` and `calibrate` share: reading events from a file or a pipe, and answers as text.

#include <optional>
#include <string>

#include "core/options.hpp"
#include "privacy/events/event.hpp"
#include "privacy/promise/guarantee.hpp"
#include "run/plan/json_values.hpp"

namespace dpmpi {

/// The whole of `path`; "-" is standard input. Throws DataError with the reason.
std::string read_text(const std::string& path);
/// What messages call it.
std::string shown_path(const std::string& path);

/// --adjacency: what is asked of a file without header.
void add_adjacency(Options& options, std::optional<Adjacency>& adjacency);
/// The adjacency of a list of events: the header's, or what was asked for, or add_remove. Throws PrivacyError if
/// the two contradict each other.
Adjacency adjacency_of(const std::optional<EventHeader>& header, const std::optional<Adjacency>& asked,
                       const std::string& path);

/// Members epsilon, delta, by, adjacency and interval, which ends at what was asked for.
void put_answer(OrderedJson& out, const Guarantee& guarantee, Adjacency adjacency, double asked);
/// Lines that say which accountants apply, with their bounds, and why the others do not.
std::string evidence(const Guarantee& guarantee);

}  // namespace dpmpi
