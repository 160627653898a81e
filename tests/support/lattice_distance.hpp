#pragma once
// How far two exact sums are apart.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/numbers/lattice.hpp"

namespace dpmpi::test {

/// In L2, from integers: no difference is lost.
inline double distance(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b, Lattice lattice) {
  __extension__ using Wide = __int128;
  Wide square = 0;
  for (std::size_t j = 0; j < a.size(); ++j) square += Wide{a[j] - b[j]} * (a[j] - b[j]);
  return std::sqrt(static_cast<double>(square)) * lattice.quantum();
}

}  // namespace dpmpi::test
