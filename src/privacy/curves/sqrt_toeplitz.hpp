#pragma once
// The square root of the prefix-sum matrix (Fichtenberger, Henzinger and Upadhyay 2023): the lower triangular
// Toeplitz matrix of the coefficients of (1 - x)^(-1/2), c_0 = 1 and c_j = c_{j-1} (2j - 1) / (2j).

#include <cstdint>

namespace dpmpi {

/// k_n = sum_{j < n} c_j^2, rounded up, within a relative 4e-13. k_0 = 0. Sums 2^18 terms at most.
long double sqrt_toeplitz_norm(std::uint64_t n);

/// |sum_{i < participations} C e_{1 + i separation}|^2 for the n x n matrix of the first `band` diagonals, rounded
/// up, within a relative 2^-40. n <= 2^20; participations <= 256, of which those behind n count for nothing. Time:
/// n * participations operations.
long double sqrt_toeplitz_norm(std::uint64_t n, std::uint64_t band, std::uint64_t participations,
                               std::uint64_t separation);

/// (k_1 + ... + k_n) / n for n >= 1, to the same accuracy.
long double mean_sqrt_toeplitz_norm(std::uint64_t n);

}  // namespace dpmpi
