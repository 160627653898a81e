#pragma once
// One process per run directory. The lock is flock(2) on RUN/lock, which the kernel gives back when its holder
// dies, however it dies. Where the file system has no flock, the file itself is the lock: it names its owner, and
// an owner that no longer runs on this machine is recognised.

#include <string>

#include "core/files/durable.hpp"

namespace dpmpi {

class RunLock {
 public:
  RunLock() = default;
  /// Takes the lock of a run directory. Throws ConfigError that names the holder if another process has it.
  explicit RunLock(const std::string& run_directory);
  ~RunLock();  ///< removes RUN/lock
  RunLock(RunLock&&) noexcept = default;
  RunLock& operator=(RunLock&&) noexcept = default;

 private:
  std::string path_;
  DurableFile file_;
};

/// Whether a process works in this run directory, as far as RUN/lock says: an owner on this machine that is gone
/// does not, one on another machine is believed. Takes no lock, not even for a moment.
bool run_is_locked(const std::string& run_directory);

}  // namespace dpmpi
