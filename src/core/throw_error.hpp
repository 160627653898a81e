#pragma once
// An error whose code and message came from elsewhere: another rank, an earlier moment.

#include <string>

#include "core/errors.hpp"

namespace dpmpi {

/// Throws the error of that code; of one that no other kind has, a BugError.
[[noreturn]] inline void throw_error(ExitCode code, const std::string& message) {
  switch (code) {
    case ExitCode::config:
      throw ConfigError(message);
    case ExitCode::data:
      throw DataError(message);
    case ExitCode::privacy:
      throw PrivacyError(message);
    case ExitCode::mpi:
      throw CommError(message);
    default:
      throw BugError(message);
  }
}

}  // namespace dpmpi
