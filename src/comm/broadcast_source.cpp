#include "comm/broadcast_source.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

constexpr std::uint64_t broadcast_bytes = std::uint64_t{1} << 20;

}  // namespace

BroadcastSource::BroadcastSource(const Communicator& comm, ByteSource* root)
    : comm_(comm), root_(root), coming_(root ? root->left() : 0) {
  verify(comm.is_root() == (root != nullptr), "the root has what is broadcast");
  comm.broadcast(coming_);
}

void BroadcastSource::read(std::span<char> out) {
  if (out.size() > left()) throw DataError(fmt::format("{} bytes are missing", out.size() - left()));
  while (!out.empty()) {
    if (position_ == piece_.size()) next_piece();
    const std::size_t now = std::min(out.size(), piece_.size() - position_);
    std::copy_n(piece_.begin() + static_cast<std::ptrdiff_t>(position_), now, out.begin());
    position_ += now;
    out = out.subspan(now);
  }
}

void BroadcastSource::next_piece() {
  piece_.resize(std::min(coming_, broadcast_bytes));
  if (root_) root_->read(piece_);
  comm_.broadcast(std::span(piece_));
  coming_ -= piece_.size();
  position_ = 0;
}

}  // namespace dpmpi
