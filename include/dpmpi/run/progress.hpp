#pragma once
// Progress for people: a line that redraws on a terminal, sparse lines in a log file. Root only; never part of the
// results.

#include <chrono>
#include <cstdint>
#include <string>

namespace dpmpi {

class Progress {
 public:
  /// `mode`: auto (redraws on a terminal, lines elsewhere), bar (redraws), lines, none. `times`: with speed
  /// and time left. `unit`: what is counted.
  Progress(const std::string& mode, std::uint64_t first, std::uint64_t steps, bool times = true,
           std::string unit = "step");
  /// True when the next update would be shown; lets the caller skip the work of composing a note.
  bool due(std::uint64_t done) const;
  /// `note`: e.g. "epsilon 0.83  eval.accuracy 0.8412".
  void update(std::uint64_t done, const std::string& note);
  /// Ends the redrawn line, so that other output starts on a fresh one.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_ = false, silent_ = false, times_ = true, drawn_ = false;
  std::uint64_t first_, steps_;
  std::string unit_;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

/// "4.2 s", "3 min 10 s", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace dpmpi
