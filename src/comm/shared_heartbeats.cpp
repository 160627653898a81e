#include "comm/shared_heartbeats.hpp"

#include <chrono>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dpmpi {

SharedHeartbeats::SharedHeartbeats(const Communicator& comm) {
  const Communicator node = comm.node();
  Heartbeat* board = nullptr;
  if (node.size() > 1) board = map(node, static_cast<std::size_t>(node.size()) * sizeof(Heartbeat));
  if (board) {
    place_heartbeat(board + node.rank());
    ranks_ = {board, static_cast<std::size_t>(node.size())};
  } else {
    ranks_ = {&heartbeat(), 1};
  }
  heartbeat().rank = comm.rank();
  heartbeat().process = static_cast<std::int32_t>(getpid());
  node.barrier();  // from here on every entry names its rank
}

// A nameless piece of shared memory: its name lives until all have opened it, so that no kill leaves it behind for
// long.
Heartbeat* SharedHeartbeats::map(const Communicator& node, std::size_t bytes) {
  std::string name;
  if (node.is_root())
    name = fmt::format("/dpmpi-{}-{}", getpid(), std::chrono::steady_clock::now().time_since_epoch().count());
  node.broadcast(name);
  int file = -1;
  const auto open_it = [&](int flags) {
    file = shm_open(name.c_str(), flags | O_RDWR, 0600);
    if (file < 0 || (node.is_root() && ftruncate(file, static_cast<off_t>(bytes)) != 0)) return;
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) memory_ = memory, bytes_ = bytes;
  };
  if (node.is_root()) open_it(O_CREAT | O_EXCL);
  node.barrier();
  if (!node.is_root()) open_it(0);
  const bool failed = node.any(memory_ == nullptr);
  if (file >= 0) ::close(file);
  if (node.is_root()) shm_unlink(name.c_str());
  return failed ? nullptr : static_cast<Heartbeat*>(memory_);
}

SharedHeartbeats::~SharedHeartbeats() {
  place_heartbeat(nullptr);
  if (memory_) munmap(memory_, bytes_);
}

}  // namespace dpmpi
