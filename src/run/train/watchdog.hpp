#pragma once
// Ends a job in which a rank hangs, and says which one and where.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/console/heartbeat.hpp"

namespace dpmpi {

/// What a look at the board found wrong: empty text if nothing.
struct Verdict {
  std::string text;
  std::int32_t speaker = -1;  ///< rank that should say it
};

/// Follows the heartbeats of one machine's ranks, one call of look() a second. No clock: a job that is suspended as
/// a whole and goes on later has not hung.
class HangDetector {
 public:
  HangDetector(std::span<const Heartbeat> ranks, std::uint64_t seconds);
  /// A rank is to blame if it neither gets on nor waits for others, or if none of its threads runs; the first of
  /// those that can still speak speaks. If all wait, the rank that they wait for is on another machine, whose own
  /// watchdog is given `grace` seconds to name it.
  Verdict look();
  static constexpr std::uint64_t grace = 10;

 private:
  struct Seen {
    std::uint64_t beats = 0, alive = 0, still = 0, dead = 0;  // the last two: seconds without a change
  };
  std::span<const Heartbeat> ranks_;
  std::uint64_t seconds_;
  std::vector<Seen> seen_;
};

/// A thread that looks once a second, makes no MPI call, and ends this process with exit code 5 (the launcher then
/// ends the others) if somebody has been still for `seconds` (0: no watch).
class Watchdog {
 public:
  Watchdog(std::span<const Heartbeat> ranks, double seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(HangDetector detector);
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace dpmpi
