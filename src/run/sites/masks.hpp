#pragma once
// Every two sites agree on a key, and one of them adds its keystream to its part of a sum that the other subtracts:
// whoever sees a part sees uniform numbers, and the parts of all add up to the sum (Bonawitz et al. 2017, with the
// masks of pairs alone: a site that drops out costs a repeat of the round, not the recovery of its masks).

#include <cstdint>
#include <span>

#include "run/sites/exchanged.hpp"

namespace dpmpi {

/// Adds the masks of `site`, one of those present, to its part, modulo 2^64. They depend on every byte of the
/// round's file but its seals, so no two files share a mask. Local.
void add_masks(const RoundFile& round, std::uint32_t site, const SecretKey& own, std::span<std::int64_t> part);

}  // namespace dpmpi
