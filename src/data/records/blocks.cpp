#include "data/records/blocks.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {

namespace {

/// Where block `block` of `blocks` even ones begins.
std::uint64_t even_begin(std::uint64_t records, std::uint32_t blocks, std::uint32_t block) {
  const std::uint64_t base = records / blocks, larger = records % blocks;
  return base * block + std::min<std::uint64_t>(block, larger);
}

}  // namespace

BlockLayout BlockLayout::of(const DatasetFacts& facts, std::uint32_t blocks) {
  BlockLayout layout{facts.records, blocks};
  const std::uint64_t slots = facts.slots_of_unit;
  if (facts.shards.empty() && slots == 1) return layout;
  const std::vector<std::uint64_t> parts = facts.shards.empty() ? std::vector{facts.records} : facts.shards;
  const auto sites = static_cast<std::uint32_t>(parts.size());
  if (blocks % sites != 0)
    throw ConfigError(
        fmt::format("data.blocks = {} is not a multiple of the {} files in data.shards: set data.blocks = {}, "
                    "so that no block mixes two sites",
                    blocks, sites, (blocks / sites + 1) * sites));
  std::uint64_t first = 0;
  for (const std::uint64_t records : parts) {
    for (std::uint32_t b = 0; b < blocks / sites; ++b)
      layout.cuts.push_back(first + slots * even_begin(records / slots, blocks / sites, b));
    first += records;
  }
  layout.cuts.push_back(first);
  return layout;
}

std::uint64_t BlockLayout::begin(std::uint32_t block) const {
  return cuts.empty() ? even_begin(records, blocks, block) : cuts[block];
}

std::uint64_t BlockLayout::largest() const {
  std::uint64_t most = 0;
  for (std::uint32_t b = 0; b < blocks; ++b) most = std::max(most, size(b));
  return most;
}

int Ownership::owner(std::uint32_t block) const {
  const auto next = std::upper_bound(first.begin(), first.end(), block);
  return static_cast<int>(next - first.begin()) - 1;
}

Ownership Ownership::even(std::uint32_t blocks, int ranks) {
  const auto size = static_cast<std::uint32_t>(ranks);
  if (size > blocks)
    throw ConfigError(
        fmt::format("{} ranks but only {} block{}: every rank needs a block. Set data.blocks = {} or more "
                    "(a constant of the config: results depend on it, but never on the number of ranks)",
                    ranks, blocks, blocks == 1 ? "" : "s", ranks));
  Ownership o;
  for (std::uint32_t r = 0; r <= size; ++r) o.first.push_back(blocks / size * r + std::min(r, blocks % size));
  return o;
}

Ownership Ownership::balanced(std::uint32_t blocks, int ranks, double root_work, double afterwards) {
  Ownership o = even(blocks, ranks);
  if (ranks == 1) return o;
  const auto others = static_cast<std::uint32_t>(ranks - 1);
  const auto finish = [&](std::uint32_t root) {
    const std::uint32_t other = (blocks - root + others - 1) / others;
    return std::max(root + root_work, static_cast<double>(other)) + afterwards * std::max(root, other);
  };
  std::uint32_t root = o.first[1];
  for (std::uint32_t candidate = root; candidate >= 1; --candidate)
    if (finish(candidate) < finish(root)) root = candidate;
  for (std::uint32_t r = 0; r <= others; ++r)
    o.first[r + 1] = root + (blocks - root) / others * r + std::min(r, (blocks - root) % others);
  return o;
}

}  // namespace dpmpi
