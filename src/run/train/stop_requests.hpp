#pragma once
// Everything that asks a run to stop at the next step, with a checkpoint.

#include <chrono>
#include <string>

#include "run/config/config.hpp"

namespace dpmpi {

/// A stop file from before would end the run at once: throws ConfigError.
void refuse_old_stop_file(const RunOptions& run);

/// Signals are seen on any rank; run.max_hours and run.stop_file are looked after by the root. Local.
class StopRequests {
 public:
  StopRequests(const RunOptions& run, bool root) : run_(run), root_(root) {}
  /// True from the first request on. Looks at the stop file once a second.
  bool seen();
  const std::string& reason() const { return reason_; }

 private:
  bool late() const;
  bool file_appeared();

  using Clock = std::chrono::steady_clock;
  const RunOptions& run_;
  bool root_;
  Clock::time_point started_ = Clock::now(), looked_{};
  std::string reason_ = "a signal";
  bool seen_ = false;
};

}  // namespace dpmpi
