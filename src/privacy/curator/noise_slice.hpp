#pragma once
// Ranks that may know the noise draw it together: each that of its own coordinates, which joins its part of the sum
// before the reduction. A draw is a function of key, step, query and coordinate, and integers have no order, so the
// total is the one that the root would have made alone.

#include <algorithm>
#include <cstddef>

namespace dpmpi {

struct Query;

/// Coordinates first .. last-1.
struct Slice {
  std::size_t first = 0, last = 0;
  std::size_t size() const { return last - first; }
  /// Those of them that are also in `other`.
  Slice within(const Slice& other) const {
    const std::size_t begin = std::max(first, other.first);
    return {begin, std::max(begin, std::min(last, other.last))};
  }
};

/// The share of one of `ranks` ranks. Together they are all `dim` coordinates, each once, in the order of the
/// ranks; they begin where a block of the cipher does, at multiples of 8, and have the same length but for 8.
inline Slice slice_of(std::size_t dim, int rank, int ranks) {
  constexpr std::size_t block = 8;
  const std::size_t blocks = (dim + block - 1) / block, r = static_cast<std::size_t>(rank),
                    all = static_cast<std::size_t>(ranks);
  const auto begin = [&](std::size_t i) {
    return std::min(dim, block * (blocks / all * i + blocks % all * i / all));
  };
  return {begin(r), begin(r + 1)};
}

/// Whether ranks that may know the noise of this query draw it together: it joins a sum over ranks, and each of its
/// draws can be made without those before.
bool drawn_by_slices(const Query& query);

}  // namespace dpmpi
