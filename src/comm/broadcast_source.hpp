#pragma once
// Bytes that the root has, read by all ranks at once, in pieces: none of them holds the whole.

#include <vector>

#include "comm/communicator.hpp"
#include "core/files/byte_stream.hpp"

namespace dpmpi {

class BroadcastSource final : public ByteSource {
 public:
  /// `root`: what is left of it; read on the root only. Collective.
  BroadcastSource(const Communicator& comm, ByteSource* root);
  /// Collective: all ranks read the same sizes in the same order.
  void read(std::span<char> out) override;
  std::uint64_t left() const override { return coming_ + (piece_.size() - position_); }

 private:
  void next_piece();
  const Communicator& comm_;
  ByteSource* root_;
  std::uint64_t coming_ = 0;  // bytes after the piece
  std::vector<char> piece_;
  std::size_t position_ = 0;
};

}  // namespace dpmpi
