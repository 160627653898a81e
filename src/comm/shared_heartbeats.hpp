#pragma once
// The heartbeats of all ranks of one machine, in memory that they share: a watchdog can read them without MPI.

#include <span>

#include "comm/communicator.hpp"
#include "core/console/heartbeat.hpp"

namespace dpmpi {

class SharedHeartbeats {
 public:
  /// Collective. Moves this process's heartbeat to the board. If the machine gives no shared memory, every rank
  /// sees only itself.
  explicit SharedHeartbeats(const Communicator& comm);
  ~SharedHeartbeats();  ///< local
  SharedHeartbeats(const SharedHeartbeats&) = delete;
  SharedHeartbeats& operator=(const SharedHeartbeats&) = delete;

  /// One for each rank of this machine, in the order of ranks.
  std::span<const Heartbeat> ranks() const { return ranks_; }

 private:
  Heartbeat* map(const Communicator& node, std::size_t bytes);
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::span<const Heartbeat> ranks_;
};

}  // namespace dpmpi
