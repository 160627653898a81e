#pragma once
// Rows in random order: memory's latency would be paid for each of them.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "data/records/records.hpp"

namespace dpmpi {

/// Asks memory for a record that will be read soon: its label, its norm and its dense row, of a long one the first
/// lines, after which the processor goes on by itself. Local.
inline void prefetch(const Records& records, std::uint32_t i) {
  constexpr std::size_t most = 16 * cache_line;
  __builtin_prefetch(&records.norm[i]);
  __builtin_prefetch(&records.label[i]);
  if (records.storage == Storage::sparse_f32) return;
  const bool floats = records.storage == Storage::dense_f32;
  const void* row = floats ? static_cast<const void*>(records.row_f32(i)) : records.row_u8(i);
  const std::size_t bytes = std::min(most, records.stride * (floats ? sizeof(float) : 1));
  for (std::size_t byte = 0; byte < bytes; byte += cache_line)
    __builtin_prefetch(static_cast<const char*>(row) + byte, 0, 2);
}

}  // namespace dpmpi
