#include "privacy/curves/normalized_buffers.hpp"

#include <array>
#include <cmath>
#include <cstddef>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/round_up.hpp"

namespace dpmpi {

// Column s holds c_0, ..., c_{n-s}: from the last column to the first, one more square each. A square is wrong by
// less than (2 j + 16) roundings of 2^-64, so are sums of squares, and j is below 2^20.
std::vector<double> column_norms(const Buffers& buffers, std::uint64_t n) {
  verify(n >= 1 && n <= 1 << 20, "the leaves of normalized columns");
  std::array<Real, Buffers::most> share{};  // weight_i decay_i^(j-1)
  for (std::size_t i = 0; i < buffers.count; ++i) share[i] = buffers.weight[i];
  std::vector<double> norms(n);
  Real squares = 1;
  for (std::uint64_t j = 1;; ++j) {
    norms[n - j] = round_up(std::sqrt(squares * (1 + 0x1p-41L)) * (1 + 0x1p-60L));
    if (j == n) return norms;
    Real c = 0;
    for (std::size_t i = 0; i < buffers.count; ++i) c += share[i], share[i] *= buffers.decay[i];
    squares += c * c;
  }
}

namespace {

/// Covariances of what the buffers hold and of the prefix, which is the last of them.
struct Covariance {
  static constexpr std::size_t most = Buffers::most + 1;
  const Buffers& buffers;
  std::array<std::array<double, most>, most> of{};

  // zeta = xi - sum_i weight_i s_i with a fresh xi; s_i becomes decay_i s_i + zeta, the prefix gets norm * zeta.
  void step(double norm) {
    const std::size_t k = buffers.count;
    std::array<double, most> with_zeta{};  // of zeta and what there is
    for (std::size_t a = 0; a <= k; ++a)
      for (std::size_t i = 0; i < k; ++i) with_zeta[a] -= buffers.weight[i] * of[i][a];
    double zeta = 1;
    for (std::size_t i = 0; i < k; ++i) zeta -= buffers.weight[i] * with_zeta[i];
    const auto keeps = [&](std::size_t a) { return a < k ? buffers.decay[a] : 1; };
    const auto takes = [&](std::size_t a) { return a < k ? 1 : norm; };
    for (std::size_t a = 0; a <= k; ++a)
      for (std::size_t b = 0; b <= a; ++b)
        of[a][b] = of[b][a] = keeps(a) * keeps(b) * of[a][b] + keeps(a) * takes(b) * with_zeta[a] +
                              keeps(b) * takes(a) * with_zeta[b] + takes(a) * takes(b) * zeta;
  }
};

}  // namespace

NormalizedVariance::NormalizedVariance(const Buffers& buffers, std::uint64_t n, std::uint64_t t) {
  verify(t >= 1 && t <= n, "a prefix of the leaves");
  const std::vector<double> norms = column_norms(buffers, n);
  Covariance covariance{buffers};
  for (std::uint64_t s = 0; s < t; ++s) {
    covariance.step(norms[s]);
    last = covariance.of[buffers.count][buffers.count];
    mean += (last - mean) / real(s + 1);
  }
}

}  // namespace dpmpi
