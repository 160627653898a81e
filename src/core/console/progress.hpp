#pragma once
// Progress for people: a bar on a terminal, a line now and then in a log file. Of one process (the root), from one
// thread at a time; never part of the results.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace dpmpi {

/// Says how this process shows progress from now on: "none" (at first), "auto" (bar on a terminal, else lines),
/// "bar", "lines". Whoever is not the root leaves it at "none".
void show_progress(std::string_view mode);

/// One phase, for as long as the object lives. A phase of under a second shows nothing; after that a bar is redrawn
/// ten times a second and taken away at the end, and lines come every ten seconds and at the end. Where times are
/// secret, both come at every tenth of the total instead. Phases may nest.
/// Everything that it is given must be public.
class Progress {
 public:
  /// `unit`: what `total` counts ("records"); empty: only the share is shown, because the numbers are not public or
  /// say nothing. `total` 0: not known, time so far is shown. `done`: where the phase begins. `times`: with speed
  /// and time left; false where these would tell what is secret.
  Progress(std::string phase, std::uint64_t total, std::string unit, std::uint64_t done = 0, bool times = true);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Costs a look at the clock.
  void add(std::uint64_t n = 1) {
    if (reached(done_ + n)) show();
  }
  /// True if it is time to show it, so that callers need not compose a note in vain.
  bool reached(std::uint64_t done);
  /// `note`: e.g. "epsilon 0.83  eval.accuracy 0.8412".
  void show(std::string_view note = {});

 private:
  using Clock = std::chrono::steady_clock;
  std::string text(double percent, double elapsed, std::string_view note) const;
  std::string phase_, unit_;
  std::uint64_t first_, done_, total_;
  bool times_, shown_ = false;
  Clock::time_point start_, last_;
};

/// "4.2 s", "3 min 10 s", "2 h 5 min".
std::string duration_text(double seconds);

/// Takes a bar off the terminal's line, so that other output does not stand behind it. Any thread.
void clear_bar();

/// Seconds after which a phase is shown at first. For tests.
void show_progress_after(double seconds);

}  // namespace dpmpi
