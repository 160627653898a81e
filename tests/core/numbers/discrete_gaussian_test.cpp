// The law of the sampler against exact masses, its decisions against 100-digit arithmetic, and injected faults that
// the same statistics must catch.
#include "core/numbers/discrete_gaussian.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>

#include "core/errors.hpp"
#include "support/discrete_law.hpp"

namespace dpmpi::discrete_gaussian_test {
namespace {

using Real = boost::multiprecision::cpp_bin_float_100;
using Integer = boost::multiprecision::cpp_int;

std::vector<std::int64_t> draws(std::uint64_t sigma, std::size_t count, std::uint64_t step = 0,
                                std::uint32_t site = 0) {
  SecretStream stream(SecretKey::from_seed(20261120));
  SecretReader bits(stream, step, site);
  const DiscreteGaussianSampler sampler(sigma);
  std::vector<std::int64_t> values(count);
  for (auto& y : values) y = sampler(bits);
  return values;
}

constexpr double alarm = 1e-6;  // of a true null hypothesis, for each test

TEST(DiscreteGaussian, HasTheExactMasses) {
  for (const std::uint64_t sigma : {1, 2, 3, 4, 7, 10, 64, 1000})
    EXPECT_GT(
        test::fit_discrete_gaussian(draws(sigma, 2'000'000), static_cast<double>(sigma), sigma == 1000 ? 10 : 1),
        alarm)
        << sigma;
}

TEST(DiscreteGaussian, HasTheExactMassesSlow) {
  for (const std::uint64_t sigma : {1, 3, 64})
    EXPECT_GT(test::fit_discrete_gaussian(draws(sigma, 100'000'000), static_cast<double>(sigma)), alarm) << sigma;
}

// What the statistic must catch: a deviation that is off by 2 %, a zero drawn with both signs, a mass off by 1 %.
TEST(DiscreteGaussian, InjectedFaultsAreCaught) {
  for (const std::uint64_t sigma : {3, 10, 1000}) {
    const auto values = draws(sigma, 2'000'000);
    const std::int64_t width = sigma == 1000 ? 10 : 1;
    EXPECT_LT(test::fit_discrete_gaussian(values, 1.02 * static_cast<double>(sigma), width), 1e-12);
    EXPECT_LT(test::fit_discrete_gaussian(values, 0.98 * static_cast<double>(sigma), width), 1e-12);
  }
  auto two_zeros = draws(10, 2'000'000);
  two_zeros.insert(two_zeros.end(), static_cast<std::size_t>(std::count(two_zeros.begin(), two_zeros.end(), 0)), 0);
  EXPECT_LT(test::fit_discrete_gaussian(two_zeros, 10), 1e-12);
  auto shifted = draws(3, 2'000'000);
  std::size_t ones = 0;
  for (auto& y : shifted)
    if (y == 1 && ++ones % 50 == 0) y = 2;
  EXPECT_LT(test::fit_discrete_gaussian(shifted, 3), 1e-6);
}

// Of deviations far above 1 the discrete law is the normal one up to a relative 1 / sigma^2.
bool looks_normal(const std::vector<std::int64_t>& values, double sigma) {
  const auto n = static_cast<double>(values.size());
  std::vector<double> x;
  for (const auto y : values) x.push_back(static_cast<double>(y) / sigma);
  double mean = 0, square = 0, fourth = 0, lag = 0, before = x.back();
  for (const double v : x) mean += v, square += v * v, fourth += v * v * v * v, lag += v * before, before = v;
  std::sort(x.begin(), x.end());
  double distance = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    distance = std::max(
        distance, std::abs(0.5 * std::erfc(-x[i] / std::numbers::sqrt2) - (static_cast<double>(i) + 0.5) / n));
  const double se = 5 / std::sqrt(n);
  return std::abs(mean / n) < se && std::abs(square / n - 1) < se * std::sqrt(2.0) &&
         std::abs(fourth / n - 3) < se * std::sqrt(96.0) && std::abs(lag / n) < se && distance * std::sqrt(n) < 2.7;
}

TEST(DiscreteGaussian, LargeDeviationsLookNormalDownToTheLastBit) {
  for (const std::uint64_t sigma :
       {std::uint64_t{1} << 30, (std::uint64_t{3} << 35) - 1, DiscreteGaussianSampler::largest_sigma}) {
    const auto values = draws(sigma, 1'000'000);
    EXPECT_TRUE(looks_normal(values, static_cast<double>(sigma))) << sigma;
    EXPECT_FALSE(looks_normal(values, 1.02 * static_cast<double>(sigma)));
    EXPECT_FALSE(looks_normal(values, 0.98 * static_cast<double>(sigma)));
    // The low byte must be uniform: a draw that was scaled up from fewer bits leaves zeros or gaps there.
    std::array<double, 256> low{};
    for (const auto y : values) ++low[static_cast<std::size_t>(y & 255)];
    const double expected = static_cast<double>(values.size()) / 256;
    double statistic = 0;
    for (const double count : low) statistic += (count - expected) * (count - expected) / expected;
    EXPECT_GT(test::chi_square_tail(statistic, low.size()), alarm) << sigma;
  }
}

TEST(DiscreteGaussian, IsAFunctionOfKeyStepAndSite) {
  const auto values = draws(1 << 20, 100'000, 5, 2);
  EXPECT_EQ(values, draws(1 << 20, 100'000, 5, 2));
  const auto part = draws(1 << 20, 1000, 5, 2);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), values.begin())) << "however many coordinates follow";
  const auto n = static_cast<double>(values.size());
  for (const auto& other : {draws(1 << 20, 100'000, 6, 2), draws(1 << 20, 100'000, 5, 3)}) {
    double correlation = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      correlation += static_cast<double>(values[i]) * 0x1p-20 * static_cast<double>(other[i]) * 0x1p-20;
    EXPECT_LT(std::abs(correlation), 5 * std::sqrt(n));
  }
}

TEST(DiscreteGaussian, RefusesDeviationsItCannotDraw) {
  EXPECT_THROW(DiscreteGaussianSampler(0), BugError);
  EXPECT_THROW(DiscreteGaussianSampler(DiscreteGaussianSampler::largest_sigma + 1), BugError);
}

Real exponential(Uint128 p, Uint128 q) {
  const auto real = [](Uint128 x) {
    return ldexp(Real{static_cast<std::uint64_t>(x >> 64)}, 64) + Real{static_cast<std::uint64_t>(x)};
  };
  return exp(-real(p) / real(q));
}

// The number that below_exp() reads as U at this step, to 32 + 64 * words digits.
Real uniform(SecretStream& stream, std::uint32_t first, std::uint64_t step, int words) {
  SecretReader bits(stream, step, 0);
  Real u = ldexp(Real{first}, -32);
  for (int i = 1; i <= words; ++i) u += ldexp(Real{bits.next()}, -32 - 64 * i);
  return u;
}

TEST(BelowExp, AgreesWithHundredDigits) {
  SecretStream stream(SecretKey::from_seed(9));
  const PublicStream random(3, "rationals");
  std::size_t yes = 0, no = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    // p / q up to 8, with q of 1 to 124 bits.
    const Uint128 wide = Uint128{random.word(8 * i)} << 64 | random.word(8 * i + 1);
    const Uint128 q = (wide >> (random.below(8 * i + 2, 124) + 4)) + 1;
    const Uint128 numerator = Uint128{random.word(8 * i + 3)} << 64 | random.word(8 * i + 4);
    const Uint128 p = numerator % (q + 1) * (random.below(8 * i + 5, 8) + 1);
    const std::uint64_t a = random.below(8 * i + 6, 40000) + 1, b = a + random.below(8 * i + 7, 3) * 1000;
    const Real bound = Real{a} / Real{b} * exponential(p, q);
    const auto edge = static_cast<std::uint64_t>(floor(ldexp(bound, 32)));
    // The cell that holds the bound is where the answer depends on the words that follow.
    for (const std::uint64_t first : {edge - 1, edge, edge + 1}) {
      if (first >= std::uint64_t{1} << 32) continue;
      const auto digits = static_cast<std::uint32_t>(first);
      SecretReader bits(stream, i, 0);
      const bool expected = uniform(stream, digits, i, 3) < bound;
      ASSERT_EQ(below_exp(digits, a, b, p, q, bits), expected) << i;
      ++(expected ? yes : no);
    }
  }
  EXPECT_GT(yes, 1000u);
  EXPECT_GT(no, 1000u);
}

// The largest operands that the sampler can hand over: |y| = 2^20 sigma at the largest sigma.
TEST(BelowExp, HoldsTheLargestExponents) {
  SecretStream stream(SecretKey::from_seed(11));
  const Uint128 sigma = DiscreteGaussianSampler::largest_sigma, y = sigma << 20;
  for (const std::uint32_t first : {0u, 1u, ~0u}) {
    SecretReader bits(stream, first, 0);
    EXPECT_FALSE(below_exp(first, 1, 1, y * y, 2 * sigma * sigma, bits));
    EXPECT_TRUE(below_exp(first, 1, 1, 0, 2 * sigma * sigma, bits)) << "every U is below 1";
  }
}

// Exponents chosen so that the bound lies within the cell of the first 96 digits: a second word must decide.
TEST(BelowExp, ReadsOnWhereTheFirstWordDoesNotDecide) {
  SecretStream stream(SecretKey::from_seed(10));
  const PublicStream random(4, "cells");
  std::array<int, 2> answers{};
  for (std::uint64_t i = 0; i < 500; ++i) {
    const auto first = static_cast<std::uint32_t>(random.word(2 * i));
    const Real inside = uniform(stream, first, i, 1) + ldexp(Real{random.uniform(2 * i + 1)}, -96);
    const Integer numerator(floor(ldexp(-log(inside), 120)));
    const Uint128 p = Uint128{static_cast<std::uint64_t>(numerator >> 64)} << 64 |
                      static_cast<std::uint64_t>(numerator & ~std::uint64_t{0});
    SecretReader bits(stream, i, 0);
    const bool answer = below_exp(first, 1, 1, p, Uint128{1} << 120, bits);
    ASSERT_EQ(answer, uniform(stream, first, i, 4) < exponential(p, Uint128{1} << 120)) << i;
    ++answers[answer ? 1 : 0];
    SecretReader fresh(stream, i, 0);
    fresh.next(), fresh.next();
    EXPECT_EQ(bits.next(), fresh.next()) << "exactly two words";
  }
  EXPECT_GT(std::min(answers[0], answers[1]), 150);
}

}  // namespace
}  // namespace dpmpi::discrete_gaussian_test
