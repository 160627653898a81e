#pragma once
// What buffered linear Toeplitz strategies (Dvijotham, McMahan, Pillutla, Steinke and Thakurta 2024) cost, and how
// much noise they leave in prefix sums, both in closed form. Only additions, products and quotients: the same bits
// on every machine. docs/theory/buffered_noise.md has the proofs.

#include <array>
#include <cstdint>
#include <vector>

#include "privacy/events/event.hpp"

namespace dpmpi {

/// |sum_{i < participations} C e_{1 + i separation}|^2 for the n x n matrix C of the buffers, n <= 2^40: the
/// squared sensitivity to a record that takes part so often, as far as there are leaves, at least so far apart.
/// Rounded up, within a relative 2^-40. Time: participations * count^2 * log2(n) operations.
long double buffered_norm(const Buffers& buffers, std::uint64_t n, std::uint64_t participations,
                          std::uint64_t separation);
/// The same in double and without the rounding, for searches.
double buffered_norm_nearly(const Buffers& buffers, std::uint64_t n, std::uint64_t participations,
                            std::uint64_t separation);

/// The weights g_j of the draws in a prefix, 1 / ((1 - x) c(x)) = sum_j g_j x^j, as a sum of geometric sequences:
/// g_j = sum_i share_i (1 - distance_i)^j, every share positive.
struct PrefixWeights {
  explicit PrefixWeights(const Buffers& buffers);
  double variance(std::uint64_t t) const;       ///< g_0^2 + ... + g_{t-1}^2, within 1e-10 for t up to 2^20
  double mean_variance(std::uint64_t n) const;  ///< over t = 1..n

 private:
  std::size_t count_;
  std::array<double, Buffers::most + 1> distance_{}, share_{};
};

/// The weights g_0, ..., g_{t-1} where the matrix has its first `band` >= 1 diagonals alone: of
/// 1 / ((1 - x) (c_0 + ... + c_{band-1} x^{band-1})). t * count operations.
std::vector<double> banded_prefix_weights(const Buffers& buffers, std::uint64_t band, std::uint64_t t);

}  // namespace dpmpi
