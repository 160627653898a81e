// Laplace draws: their law, their resolution far out, and bits that are used for one thing only.
#include "core/numbers/laplace.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/numbers/random.hpp"

namespace dpmpi::laplace_test {
namespace {

using Words = std::array<std::uint64_t, 4>;

std::vector<double> draws(std::size_t count) {
  SecretStream stream(SecretKey::from_seed(4));
  std::vector<double> x(count);
  Words words{};
  for (std::size_t i = 0; i < count; ++i) {
    stream.words(0, 0, 8 * i, words);
    x[i] = standard_laplace(words);
  }
  return x;
}

TEST(StandardLaplace, HasTheLaw) {
  constexpr std::size_t count = 200000;
  std::vector<double> x = draws(count);
  std::ranges::sort(x);
  double worst = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double law = x[i] < 0 ? std::exp(x[i]) / 2 : 1 - std::exp(-x[i]) / 2;
    const double at = static_cast<double>(i) / count;
    worst = std::max({worst, law - at, at + 1.0 / count - law});
  }
  EXPECT_LT(worst * std::sqrt(1.0 * count), 2.2) << "Kolmogorov: beyond it once in 8000";
}

// U = 2^-k m with m in (1/2, 1]: the draw is ln U with a sign.
TEST(StandardLaplace, IsAccurateAndReaches88) {
  for (const int leading : {0, 1, 5, 40, 63, 64, 100, 127, 128})
    for (const std::uint64_t place : {std::uint64_t{0}, std::uint64_t{1} << 62, ~std::uint64_t{0}})
      for (const std::uint64_t sign : {0, 1}) {
        const auto bit = [](int zeros) { return zeros < 64 ? std::uint64_t{1} << (63 - zeros) : 0; };
        const Words words{bit(leading), leading < 64 ? ~std::uint64_t{0} : bit(leading - 64), place, sign};
        const long double m = 0.5L + (static_cast<long double>(place >> 11) + 0.5L) * 0x1p-54L;
        const long double exact = (sign ? 1 : -1) * (std::log(m) - leading * std::log(2.0L));
        EXPECT_NEAR(standard_laplace(words), static_cast<double>(exact), 0x1p-46) << leading;
      }
  EXPECT_GT(standard_laplace(Words{0, 0, 0, 0}), 88);
  EXPECT_LT(standard_laplace(Words{0, 0, 0, 1}), -88);
}

// The share of places that give more than `size` after so many halvings. Larger places give smaller sizes.
long double share_above(double size, int halvings) {
  const std::uint64_t first = halvings < 64 ? std::uint64_t{1} << (63 - halvings) : 0;
  const std::uint64_t second = halvings < 64 ? 0 : std::uint64_t{1} << (127 - halvings);
  std::uint64_t above = 0, not_above = std::uint64_t{1} << 53;
  while (not_above > above) {
    const std::uint64_t middle = above + (not_above - above) / 2;
    if (standard_laplace(Words{first, second, middle << 11, 0}) > size)
      above = middle + 1;
    else
      not_above = middle;
  }
  return static_cast<long double>(above) * 0x1p-53L;
}

// What a test against a threshold shows: counted over all places, next to 0 and far out.
TEST(StandardLaplace, HalfLinesHaveTheirProbabilityAtBothEnds) {
  for (const double size : {0x1p-50, 0x1p-40, 1e-9, 1e-3, 0.5, 0.69, 0.7, 3.0, 20.0, 44.0, 60.0, 80.0}) {
    const int halvings = static_cast<int>(size / std::log(2.0));
    const long double found = (1 + share_above(size, halvings)) * std::ldexp(1.0L, -halvings - 1);
    EXPECT_NEAR(static_cast<double>(found / std::exp(-static_cast<long double>(size))), 1, 0x1p-46) << size;
  }
}

}  // namespace
}  // namespace dpmpi::laplace_test
