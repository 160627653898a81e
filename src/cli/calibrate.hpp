#pragma once
// `dpmpi calibrate`: the noise, scale, rate or number of uses that a list of events may have.

#include <iosfwd>
#include <optional>
#include <string>

#include "privacy/events/event.hpp"

namespace dpmpi {

struct CalibrateRequest {
  std::string path = "-";           ///< JSON lines in which every unknown value is written "?"; "-": standard input
  std::optional<double> epsilon;    ///< > 0
  std::optional<double> delta;      ///< in (0, 1)
  std::string accountant = "best";  ///< a name of make_accountant
  std::optional<Adjacency> adjacency = {};  ///< of a file without header (default add_remove)
  bool json = false;
};

/// Prints the value of the unknown that uses the target up, with the guarantee that it gives; returns 0. Throws
/// ConfigError (request), DataError (unreadable file), PrivacyError (malformed events, no or several unknowns, a
/// target that no value keeps).
int calibrate(const CalibrateRequest& request, std::ostream& out);

}  // namespace dpmpi
