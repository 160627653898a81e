#include "method/heavy_tailed/certified_minimum.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/numbers/random.hpp"

namespace dpmpi::certified_minimum_test {
namespace {

std::vector<double> normals(std::uint64_t key, std::size_t count) {
  std::vector<double> all(count + count % 2);
  PublicStream(key, "certified minimum test").normals(0, all);
  all.resize(count);
  return all;
}

// T16: condition number 10^10. The certificate holds for the exact minimum, which is known.
TEST(CertifiedMinimum, IllConditionedQuadratic) {
  constexpr std::size_t d = 12;
  const auto target = normals(1, d);
  std::vector<double> curvature(d), z(d, 0.0);
  for (std::size_t j = 0; j < d; ++j) curvature[j] = std::pow(10, -10.0 * static_cast<double>(j) / (d - 1));
  CertifiedMinimum solver(d);
  const double tolerance = 1e-11;
  const auto asked = solver.run(
      [&](std::span<const double> at, std::span<double> g) {
        for (std::size_t j = 0; j < d; ++j) g[j] = curvature[j] * (at[j] - target[j]);
        return 1e-15;
      },
      1, tolerance, z);
  double square = 0;
  for (std::size_t j = 0; j < d; ++j) square += std::pow(curvature[j] * (z[j] - target[j]), 2);
  EXPECT_LE(std::sqrt(square), tolerance);
  EXPECT_LT(asked, 20000u);
}

// Kinks smoothed to a width of 10^-6: the slope jumps, the search finds it all the same.
TEST(CertifiedMinimum, NearlyKinked) {
  for (std::uint64_t key = 1; key <= 20; ++key) {
    constexpr std::size_t d = 4, n = 60;
    const auto a = normals(key, n * d), y = normals(key + 100, n);
    std::vector<double> z(d, 0.0), at_end(d);
    CertifiedMinimum solver(d);
    const auto gradient = [&](std::span<const double> at, std::span<double> g) {
      for (std::size_t j = 0; j < d; ++j) g[j] = 0.1 * at[j];
      for (std::size_t s = 0; s < n; ++s) {
        double m = -y[s];
        for (std::size_t j = 0; j < d; ++j) m += a[s * d + j] * at[j];
        const double slope = std::fmin(1, std::fmax(-1, m * 1e6));
        for (std::size_t j = 0; j < d; ++j) g[j] += slope * a[s * d + j] / n;
      }
      return 1e-14;
    };
    solver.run(gradient, 1e7, 1e-9, z);
    gradient(z, at_end);
    EXPECT_LE(CertifiedMinimum::norm_bound(at_end, 1e-14), 1e-9) << key;
  }
}

// No way out but the certificate: the error that the gradient reports counts, and a start that is good is kept.
TEST(CertifiedMinimum, CountsTheErrorOfTheGradient) {
  CertifiedMinimum solver(1);
  std::vector<double> z{0.5};
  std::size_t asked = 0;
  const auto run = [&](double error_at_first) {
    asked = 0, z = {0.5};
    return solver.run(
        [&](std::span<const double> at, std::span<double> g) {
          g[0] = at[0] - 0.5;
          return ++asked <= 5 ? error_at_first : 0.0;
        },
        1, 1e-3, z);
  };
  EXPECT_EQ(run(0), 1u);
  EXPECT_GE(run(0.002), 6u);
  EXPECT_EQ(z[0], 0.5);
  EXPECT_GE(CertifiedMinimum::norm_bound(std::vector<double>{3, 4}, 1), 6);
}

}  // namespace
}  // namespace dpmpi::certified_minimum_test
