#pragma once
// The length of a vector, to rounding errors that do not grow with its dimension.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace dpmpi {

/// |v| with an error of (256 + 3) 2^-53 at most, relatively: chunks, and their sums with what rounding loses.
inline double accurate_norm(std::span<const double> v) {
  double sum = 0, lost = 0;
  for (std::size_t first = 0; first < v.size(); first += 256) {
    double chunk = 0;
    for (const double x : v.subspan(first, std::min<std::size_t>(256, v.size() - first))) chunk += x * x;
    const double next = sum + chunk;  // all terms >= 0: Dekker's difference is exact for the larger one
    lost += sum >= chunk ? chunk - (next - sum) : sum - (next - chunk);
    sum = next;
  }
  return std::sqrt(sum + lost);
}

}  // namespace dpmpi
