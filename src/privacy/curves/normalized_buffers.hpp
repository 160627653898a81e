#pragma once
// Buffered Toeplitz strategies whose columns are divided by their norms: a record costs the same in every leaf.
// docs/theory/buffered_noise.md has the proof.

#include <cstdint>
#include <vector>

#include "privacy/events/event.hpp"

namespace dpmpi {

/// What the columns 1..n of the n x n matrix of the buffers are divided by, n <= 2^20: their norms, rounded up,
/// within a relative 2^-39. So no quotient is longer than 1. n doubles; n * count operations.
std::vector<double> column_norms(const Buffers& buffers, std::uint64_t n);

/// Variance of the noise in the prefixes 1..t of n leaves, in units of a draw's, and their mean. Without roundings
/// that matter: within 1e-11. t * count^2 operations.
struct NormalizedVariance {
  NormalizedVariance(const Buffers& buffers, std::uint64_t n, std::uint64_t t);
  double last = 0, mean = 0;
};

}  // namespace dpmpi
