#pragma once
// A folder for tests of several ranks.

#include <memory>
#include <string>

#include "comm/communicator.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test {

/// A folder made by the root that all ranks of the group see; the root removes it when all are done.
class SharedFolder {
 public:
  explicit SharedFolder(const Communicator& comm) : comm_(comm) {
    if (comm.is_root()) path_ = (owned_ = std::make_unique<Folder>())->path();
    comm.broadcast(path_);
  }
  ~SharedFolder() { comm_.barrier(); }
  /// Runs `write` on the root; then all go on.
  template <class Write>
  void fill(Write&& write) {
    if (comm_.is_root()) write(*owned_);
    comm_.barrier();
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  const Communicator& comm_;
  std::unique_ptr<Folder> owned_;
  std::string path_;
};

}  // namespace dpmpi::test
