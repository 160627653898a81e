#include "run/sites/masks.hpp"

#include <algorithm>
#include <array>

#include "core/secrecy.hpp"

namespace dpmpi {

void add_masks(const RoundFile& round, std::uint32_t site, const SecretKey& own, std::span<std::int64_t> part) {
  const std::string purpose = "mask " + round.digest();
  std::array<std::uint64_t, 1024> mask{};
  for (const std::uint32_t other : round.present) {
    if (other == site) continue;
    SecretStream stream(agreed_key(own, round.sites.at(other), purpose));
    for (std::size_t j = 0; j < part.size(); j += mask.size()) {
      const auto piece = part.subspan(j, std::min(mask.size(), part.size() - j));
      stream.words(round.round, 0, j, std::span(mask).first(piece.size()));
      for (std::size_t i = 0; i < piece.size(); ++i)
        piece[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(piece[i]) +
                                             (site < other ? mask[i] : std::uint64_t{0} - mask[i]));
    }
  }
  wipe(mask);
}

}  // namespace dpmpi
