#pragma once
// Regression data from a random smooth function, to search lengthscales for: a function of seed and record number
// only, the same bytes on every machine.

#include <cstdint>

#include "data/records/builder.hpp"

namespace dpmpi {

/// Adds records first .. first + count - 1: features uniform on [-1, 1], label f(x) + N(0, 0.05^2). f is a sum of
/// 2048 random cosines, and so nearly a draw of the Gaussian process with kernel exp(-(1/2) sum_j (x_j - x'_j)^2 /
/// length_j^2) (Rahimi and Recht 2007). Of d features the first s = min(5, ceil(d / 3)) have length 1, the others
/// sqrt(3.6 (d - s)): 6 for d = 15. Local.
void add_smooth_function(std::uint64_t seed, std::uint64_t first, std::uint64_t count, RecordsBuilder& out);

}  // namespace dpmpi
