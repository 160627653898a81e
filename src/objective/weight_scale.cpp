#include "objective/weight_scale.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace dpmpi {

std::optional<double> weight_scale(const SetTotals& whole, const Shard& shard) {
  std::array<std::int64_t, 150> with_exponent{};  // of floats from 2^-149 to 1
  for (const Block& block : shard.blocks)
    for (const float weight : block.records.weight)
      if (weight > 0) ++with_exponent.at(static_cast<std::size_t>(-std::ilogb(weight)));
  whole.sum(with_exponent);
  const auto largest = std::ranges::find_if(with_exponent, [](std::int64_t count) { return count > 0; });
  if (largest == with_exponent.end()) return std::nullopt;
  return std::ldexp(0.5, static_cast<int>(largest - with_exponent.begin()));
}

}  // namespace dpmpi
