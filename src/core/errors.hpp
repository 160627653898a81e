#pragma once
// Errors carry the exit code of the command line (design: 2 config, 3 data, 4 privacy, 5 MPI, 6 stopped, 70 bug).

#include <stdexcept>
#include <string>

namespace dpmpi {

enum class ExitCode : int { done = 0, config = 2, data = 3, privacy = 4, mpi = 5, stopped = 6, bug = 70 };

/// Base of everything thrown on purpose. `kind()` is the word that a user sees before the message.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const char* kind, const std::string& message)
      : std::runtime_error(message), code_(code), kind_(kind) {}
  ExitCode code() const { return code_; }
  const char* kind() const { return kind_; }

 private:
  ExitCode code_;
  const char* kind_;
};

/// Wrong configuration or command line. Seen by all ranks alike, so it is printed once.
struct ConfigError : Error {
  explicit ConfigError(const std::string& m) : Error(ExitCode::config, "config error", m) {}
};
/// Unreadable or malformed data. Often seen by one rank only. The message names file and line (or byte).
struct DataError : Error {
  explicit DataError(const std::string& m) : Error(ExitCode::data, "data error", m) {}
};
/// A request that would break the privacy promise. Seen by all ranks alike.
struct PrivacyError : Error {
  explicit PrivacyError(const std::string& m) : Error(ExitCode::privacy, "privacy refusal", m) {}
};
/// A failed MPI call, or ranks that disagree where they must not.
struct CommError : Error {
  explicit CommError(const std::string& m) : Error(ExitCode::mpi, "MPI error", m) {}
};
/// A broken invariant of the program itself.
struct BugError : Error {
  explicit BugError(const std::string& m) : Error(ExitCode::bug, "internal error (please report)", m) {}
};

/// Always-on invariant check: throws BugError with the call's location. Not for bad input, which has its own
/// errors.
/// (The builtins stand in for std::source_location, which clang 14 cannot use with libstdc++.)
void verify(bool condition, const char* what, const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace dpmpi
