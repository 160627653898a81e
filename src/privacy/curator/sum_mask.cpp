#include "privacy/curator/sum_mask.hpp"

#include <algorithm>
#include <array>

#include "core/errors.hpp"
#include "core/secrecy.hpp"

namespace dpmpi {

SumMask::SumMask(const Communicator& comm, const std::optional<SecretKey>& key) {
  const auto size = static_cast<std::uint64_t>(comm.size());
  std::vector<std::string> parts(size);
  if (comm.is_root())
    for (std::uint64_t r = 0; r < size; ++r)
      for (const std::uint64_t edge : {r, (r + size - 1) % size}) {
        const SecretKey shared = key->derive("sum mask", size << 32 | edge);
        parts[r].append(reinterpret_cast<const char*>(shared.bytes().data()), shared.bytes().size());
      }
  std::string mine = comm.scatter(parts);
  verify(mine.size() == 64, "a rank shares a key with each of two neighbours");
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(mine.data());
  plus_.emplace(SecretKey::from_bytes(std::span<const std::uint8_t, 32>(bytes, 32)));
  minus_.emplace(SecretKey::from_bytes(std::span<const std::uint8_t, 32>(bytes + 32, 32)));
  for (std::string& part : parts) wipe(part);
  wipe(mine);
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
