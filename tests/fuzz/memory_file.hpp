#pragma once
// Bytes as a file that has no name in a folder: what reads files is fuzzed without a disk.

#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "check.hpp"

namespace dpmpi::fuzzing {

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : file_(memfd_create("fuzz", 0)) {
    require(write(file_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace dpmpi::fuzzing
