#include "privacy/curator/sum_mask.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "comm/scatter_keys.hpp"
#include "core/errors.hpp"
#include "core/secrecy.hpp"

namespace dpmpi {

SumMask::SumMask(const Communicator& comm, const std::optional<SecretKey>& key) {
  const auto size = static_cast<std::uint64_t>(comm.size());
  std::vector<std::vector<SecretKey>> edges(comm.is_root() ? size : 0);
  for (std::uint64_t r = 0; r < edges.size(); ++r)
    for (const std::uint64_t edge : {r, (r + size - 1) % size})
      edges[r].push_back(key->derive("sum mask", size << 32 | edge));
  std::vector<SecretKey> own = scatter_keys(comm, edges);
  verify(own.size() == 2, "a rank shares a key with each of two neighbours");
  plus_.emplace(std::move(own[0]));
  minus_.emplace(std::move(own[1]));
}

void SumMask::apply(std::span<std::int64_t> message, std::uint64_t step, std::uint32_t query_index) {
  std::array<std::uint64_t, 1024> plus, minus;
  for (std::size_t j = 0; j < message.size(); j += plus.size()) {
    const std::size_t count = std::min(plus.size(), message.size() - j);
    plus_->words(step, query_index, j, std::span(plus.data(), count));
    minus_->words(step, query_index, j, std::span(minus.data(), count));
    for (std::size_t i = 0; i < count; ++i)
      message[j + i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(message[j + i]) + plus[i] - minus[i]);
  }
  wipe(plus), wipe(minus);
}

}  // namespace dpmpi
