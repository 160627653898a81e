#include "privacy/curves/sqrt_toeplitz.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/numbers/real.hpp"

namespace dpmpi {

namespace {

// Terms that are summed one by one; their roundings amount to less than 2^-44 of the sum.
constexpr std::uint64_t summed = 1ULL << 18;
constexpr Real slack = 0x1p-42L;

struct Partial {
  Real sum;   // k_n
  Real next;  // c_n^2
};

// (j + 1/4) c_j^2 rises with j, because (j + 5/4) (j + 1/2)^2 - (j + 1/4) (j + 1)^2 = 1/16 > 0, to its limit 1/pi
// (Wallis). So c_j^2 < 1 / (pi (j + 1/4)), and the sum of these is below the integral from N - 1/2 to n - 1/2,
// because 1/x is convex. For N = 2^18 the two steps together add less than 3e-13.
Partial partial(std::uint64_t n) {
  Real sum = 0, square = 1;
  for (std::uint64_t j = 0; j < std::min(n, summed); ++j) {
    sum += square;
    const Real ratio = (static_cast<Real>(j) + 0.5L) / static_cast<Real>(j + 1);
    square *= ratio * ratio;
  }
  if (n <= summed) return {sum, square};
  constexpr Real pi = std::numbers::pi_v<Real>;
  const auto x = static_cast<Real>(n);
  return {sum + std::log((x - 0.25L) / (static_cast<Real>(summed) - 0.25L)) / pi, 1 / (pi * (x + 0.25L))};
}

}  // namespace

long double sqrt_toeplitz_norm(std::uint64_t n) {
  return n <= 1 ? static_cast<Real>(n) : partial(n).sum * (1 + slack);
}

// Row t of the sum is that of c_{t - i separation} over the participations so far. All terms are positive: a
// coefficient is within 2 n 2^-64 <= 2^-43, a row within 2^-42.9, and the sum of its squares within 2^-41.8.
long double sqrt_toeplitz_norm(std::uint64_t n, std::uint64_t band, std::uint64_t participations,
                               std::uint64_t separation) {
  std::vector<Real> c(std::min(n, band), 1);
  for (std::size_t j = 1; j < c.size(); ++j)
    c[j] = c[j - 1] * static_cast<Real>(2 * j - 1) / static_cast<Real>(2 * j);
  Real sum = 0;
  for (std::uint64_t t = 0; t < n; ++t) {
    Real row = 0;
    for (std::uint64_t i = std::min(participations - 1, t / separation) + 1; i-- > 0;) {
      const std::uint64_t j = t - i * separation;
      if (j >= c.size()) break;
      row += c[j];
    }
    sum += row * row;
  }
  return sum * (1 + 0x1p-41L);
}

// sum_t k_t = sum_{j < n} (n - j) c_j^2, and 4 (j+1)^2 c_{j+1}^2 - 4 j^2 c_j^2 = (4j + 1) c_j^2 telescopes to
// sum_{j < n} j c_j^2 = n^2 c_n^2 - k_n / 4.
long double mean_sqrt_toeplitz_norm(std::uint64_t n) {
  const auto [sum, next] = partial(n);
  const auto x = static_cast<Real>(n);
  return sum + sum / (4 * x) - x * next;
}

}  // namespace dpmpi
