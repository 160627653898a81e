#pragma once
// Reading ahead in sweeps over tiles of dense rows. Private to the objectives.

#include <array>
#include <cstddef>

#include "core/aligned.hpp"
#include "objective/math/losses.hpp"

namespace dpmpi {

/// Fetches the rows of the next tile into the cache, some lines at every step of a sweep over the present one.
class ReadAhead {
 public:
  void aim(const std::array<const void*, tile_rows>& rows, std::size_t count, std::size_t row_bytes) {
    for (std::size_t r = 0; r < count; ++r) row_[r] = static_cast<const char*>(rows[r]);
    bytes_ = row_bytes;
    end_ = count;
    r_ = 0;
    byte_ = 0;
  }
  void rest() { r_ = end_; }
  void step() {
    if (r_ == end_) return;
    // Four lines at each of the steps of the two sweeps fetch just one tile of floats, at the pace of the
    // arithmetic. Into the second level: the first one is full of the present tile, and has too few fill buffers
    // for the latency of memory.
    constexpr std::size_t lines = 4;
    const char* from = row_[r_] + byte_;
#pragma GCC unroll 4
    for (std::size_t line = 0; line < lines; ++line) __builtin_prefetch(from + line * cache_line, 0, 2);
    byte_ += lines * cache_line;
    if (byte_ < bytes_) return;
    byte_ = 0;
    ++r_;
  }

 private:
  std::array<const char*, tile_rows> row_{};
  std::size_t bytes_ = 0, r_ = 0, end_ = 0, byte_ = 0;
};

}  // namespace dpmpi
