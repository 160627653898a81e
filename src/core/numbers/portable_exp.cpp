#include "core/numbers/portable_exp.hpp"

#include <cmath>

namespace dpmpi {

// Halves of ln 2 and a Taylor sum for |rest| <= ln(2) / 2.
double portable_exp(double x) {
  constexpr double ln2_high = 0x1.62e42fefap-1, ln2_low = 0x1.cf79abc9e3b39p-40;
  const double n = std::nearbyint(x / (ln2_high + ln2_low));
  const double rest = (x - n * ln2_high) - n * ln2_low;
  double sum = 1;
  for (int k = 16; k >= 1; --k) sum = 1 + sum * rest / k;
  return std::ldexp(sum, static_cast<int>(n));
}

}  // namespace dpmpi
