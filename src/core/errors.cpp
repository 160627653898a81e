#include "core/errors.hpp"

#include <fmt/format.h>

namespace dpmpi {

void throw_error(ExitCode code, const std::string& message) {
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

void verify(bool condition, const char* what, const char* file, int line) {
  if (!condition) throw BugError(fmt::format("{} ({}:{})", what, file, line));
}

}  // namespace dpmpi
