#pragma once
// What data and sums must not contain.

#include <limits>

namespace dpmpi::test {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace dpmpi::test
