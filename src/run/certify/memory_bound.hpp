#pragma once
// Bounds the memory that work on somebody else's numbers may take: what does not fit ends in std::bad_alloc, before
// the machine is full.

#include <cstdint>

#include <sys/resource.h>

namespace dpmpi {

/// While it lives, the process gets at most so many bytes on top of what it has.
class MemoryBound {
 public:
  explicit MemoryBound(std::uint64_t more);
  ~MemoryBound();
  MemoryBound(const MemoryBound&) = delete;
  MemoryBound& operator=(const MemoryBound&) = delete;

 private:
  rlimit before_{};
};

}  // namespace dpmpi
