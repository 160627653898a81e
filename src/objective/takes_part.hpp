#pragma once
// Which records count whatever their loss is.

#include <cmath>
#include <cstdint>

#include "data/records/records.hpp"

namespace dpmpi {

/// False for empty slots and records that are not finite (N7): they contribute nothing, whatever a loss makes of
/// them.
inline bool takes_part(const Records& records, std::uint32_t i) {
  return !std::isnan(records.label[i]) && records.norm[i] >= 0 && std::isfinite(records.norm[i]);
}

}  // namespace dpmpi
