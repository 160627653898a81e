#pragma once
// How a run stands, by its public files.

#include <cstdint>
#include <string>

namespace dpmpi {

enum class RunState { going_on, finished, left };  ///< left: stopped or killed; it can be resumed

/// Local; touches nothing in the directory. A run on another machine that was killed still seems to go on.
RunState state_of_run(const std::string& directory);

/// What the plan says of a run, for who follows it.
struct RunOutline {
  std::uint64_t steps = 0;
  bool tells_times = true;  ///< false: how long its steps take is secret
  std::string promise;      ///< in words: "epsilon 1, delta 1e-05, add_remove"
};
/// Throws ConfigError if it is no run directory, DataError for a plan that no run writes.
RunOutline outline_of_run(const std::string& directory);

}  // namespace dpmpi
