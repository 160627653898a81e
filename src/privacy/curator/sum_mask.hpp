#pragma once
// A reduction passes partial sums through the memory of other ranks on their way to the root. Under trust = root no
// worker may see them, so every rank adds a mask that looks uniform to all but its two neighbours and the root, and
// that cancels exactly in the full sum: m_r = K_r - K_(r-1) modulo 2^64, K_r a keystream that ranks r and r + 1
// (cyclically) share. The root's part carries the noise already. So a sum over ranks without the root keeps the
// keystreams at the two ends of each of its runs, and no single other worker knows both ends of a run; a sum with
// the root's part in it is noised.

#include <cstdint>
#include <optional>
#include <span>

#include "comm/communicator.hpp"
#include "core/numbers/random.hpp"

namespace dpmpi {

class SumMask {
 public:
  /// Collective: the root derives the shared keys and sends each rank its two. `key` is read on the root only.
  SumMask(const Communicator& comm, const std::optional<SecretKey>& key);
  /// Adds this rank's mask of (step, query_index). Local.
  void apply(std::span<std::int64_t> message, std::uint64_t step, std::uint32_t query_index);

 private:
  std::optional<SecretStream> plus_, minus_;
};

}  // namespace dpmpi
