#pragma once
// How many points a call of LossesTogether takes.

#include <algorithm>
#include <cstddef>

namespace dpmpi {

/// All `points`, or those that 64 MiB hold. A number that follows from public ones alone.
inline std::size_t points_of_a_call(std::size_t points, std::size_t dim) {
  constexpr std::size_t most = (std::size_t{64} << 20) / sizeof(float);
  return std::clamp<std::size_t>(most / std::max<std::size_t>(dim, 1), 1, std::max<std::size_t>(points, 1));
}

}  // namespace dpmpi
