#pragma once
// `dpmpi account`: the privacy of a ledger or of any list of events.

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "privacy/events/event.hpp"
#include "privacy/promise/guarantee.hpp"

namespace dpmpi {

/// What is asked. Exactly one of `delta` and `epsilon` is set.
struct AccountRequest {
  std::string path = "-";           ///< JSON lines; "-" is standard input
  std::optional<double> delta;      ///< in (0, 1): asks for epsilon
  std::optional<double> epsilon;    ///< >= 0: asks for delta
  std::string accountant = "best";  ///< a name of make_accountant; best: the smallest of all that know every event
  std::vector<double> orders;       ///< also print the composed RDP curve at these orders
  /// Of a file without header (default add_remove); must not contradict a header.
  std::optional<Adjacency> adjacency;
  std::int64_t group = 1;             ///< of so many records (or persons) of one somebody
  std::string plan;                   ///< of a run that was stopped: its plan.json
  std::optional<StopReason> stopped;  ///< why; with a plan
  bool json = false;
};

/// Prints the answer; returns the exit code 0. Throws ConfigError (request), DataError (unreadable file),
/// PrivacyError (events that are malformed, unknown or have no bound under the adjacency; broken hash chain).
int account(const AccountRequest& request, std::ostream& out);

}  // namespace dpmpi
