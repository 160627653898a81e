#pragma once
// Words of the mathematics that C++ has long names for.

#include <cstdint>
#include <limits>

namespace dpmpi {

using Real = long double;  // of 64 bits; its range holds the squares of all doubles

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A count among real numbers.
constexpr double real(std::uint64_t count) { return static_cast<double>(count); }
/// A count that an option holds; its range has none below zero.
constexpr std::uint64_t whole(std::int64_t count) { return static_cast<std::uint64_t>(count); }

}  // namespace dpmpi
