#pragma once
// What random layers draw their numbers from.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dpmpi {

/// Of values by their bits: to tell them apart, not to hide them.
inline std::uint64_t digest_of(std::span<const float> values) {
  std::uint64_t state = 0x9e3779b97f4a7c15;
  for (const float value : values) {
    state = (state ^ std::bit_cast<std::uint32_t>(value)) * 0xd6e8feb86659fd93;
    state ^= state >> 32;
  }
  return state;
}

/// Everything that a random layer may look at: the point, which is public, and the record that it has before it. So
/// a record's gradient is a function of both and of nothing else, whatever records stand beside it, on any number
/// of ranks, and when a run is resumed. Whoever clips it needs no more.
struct LayerDraws {
  std::uint64_t point = 0, record = 0;  ///< digests
  std::uint32_t copy = 0;               ///< of the record, if it has several
  /// For layer `number` of a list: each layer draws other numbers.
  LayerDraws of_layer(std::size_t number) const {
    const std::uint64_t mixed = (point ^ number) * 0xd6e8feb86659fd93;
    return {mixed ^ (mixed >> 32), record, copy};
  }
};

}  // namespace dpmpi
