#include "dpmpi/data/blocks.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"

namespace dpmpi {

std::uint64_t BlockLayout::begin(std::uint32_t block) const {
  const std::uint64_t base = records / blocks, larger = records % blocks;
  return base * block + std::min<std::uint64_t>(block, larger);
}

int Ownership::owner(std::uint32_t block) const {
  const auto next = std::upper_bound(first.begin(), first.end(), block);
  return static_cast<int>(next - first.begin()) - 1;
}

Ownership Ownership::even(std::uint32_t blocks, int ranks) {
  const auto size = static_cast<std::uint32_t>(ranks);
  if (size > blocks)
    throw ConfigError(fmt::format("{} ranks but only {} blocks: every rank needs a block. Set data.blocks = {} or more "
                                  "(a constant of the config: results depend on it, but never on the number of ranks)",
                                  ranks, blocks, ranks));
  Ownership o;
  for (std::uint32_t r = 0; r <= size; ++r) o.first.push_back(blocks / size * r + std::min(r, blocks % size));
  return o;
}

}  // namespace dpmpi
