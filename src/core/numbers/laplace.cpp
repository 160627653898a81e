#include "core/numbers/laplace.hpp"

#include <bit>

#include "core/numbers/random.hpp"

namespace dpmpi {

// U uniform in (0, 1): how often it can be doubled below 1 from leading zeros, its place in (1/2, 1] from other
// bits, so that small U are as finely resolved as large ones. -ln U is exponential.
double standard_laplace(std::span<const std::uint64_t, 4> words) {
  const int halvings = std::countl_zero(words[0]) + (words[0] == 0 ? std::countl_zero(words[1]) : 0);
  const double place = 0.5 + (static_cast<double>(words[2] >> 11) + 0.5) * 0x1p-54;
  const double size = halvings * 0.69314718055994530942 - portable_log(place);
  return (words[3] & 1) != 0 ? -size : size;
}

}  // namespace dpmpi
