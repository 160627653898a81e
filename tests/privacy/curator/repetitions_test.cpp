// The number of runs of which the best is released: its law, as drawn and as charged.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>

#include "privacy/curator/repetition_laws.hpp"
#include "privacy/curves/repetition_law.hpp"

namespace dpmpi::repetitions_test {
namespace {

using test::binomial;
using test::poisson;
using test::repetition_laws;
using Real = long double;

/// P(k) from k = 0 on, each from its definition, until the tail is below 1e-18.
std::vector<Real> masses(const RepetitionLaw& law) {
  std::vector<Real> p;
  Real sum = 0;
  for (Real k = 0; 1 - sum > 1e-17L && k < 20000; ++k) {
    if (law.distribution == Repetitions::poisson) {
      p.push_back(std::exp(k * std::log(static_cast<Real>(law.mean)) - law.mean - std::lgamma(k + 1)));
    } else if (k == 0) {
      p.push_back(0);
    } else {
      const Real s = law.shape, g = law.gamma;
      if (s == 0)
        p.push_back(std::pow(1 - g, k) / (k * std::log(1 / g)));
      else  // binom(k+s-1, k) = Gamma(k+s) / (Gamma(s) k!), of the sign of s where s > -1
        p.push_back(
            std::pow(1 - g, k) *
            std::exp(std::lgamma(k + s) - std::lgamma(std::abs(s) < 1e-9L ? 1 : 1 + s) - std::lgamma(k + 1)) * s /
            (std::pow(g, -s) - 1));
    }
    sum += p.back();
  }
  return p;
}

TEST(Repetitions, ExpectationIsThatOfTheMasses) {
  for (const RepetitionLaw& law : repetition_laws) {
    Real sum = 0, mean = 0;
    const auto p = masses(law);
    for (std::size_t k = 0; k < p.size(); ++k) sum += p[k], mean += static_cast<Real>(k) * p[k];
    EXPECT_NEAR(static_cast<double>(sum), 1, 1e-13);
    EXPECT_NEAR(expected_repetitions(law) / static_cast<double>(mean), 1, 1e-12) << law.shape << " " << law.gamma;
  }
  EXPECT_NEAR(expected_repetitions(binomial(1, 1e-3)), 1000, 1e-9) << "geometric: 1 / gamma";
  EXPECT_NEAR(expected_repetitions(binomial(1e-13, 0.1)) / expected_repetitions(binomial(0, 0.1)), 1, 1e-11);
}

// Words at equal distances fall on k as often as the law says, to a word or two: the inverse of its distribution.
TEST(Repetitions, AreDrawnByTheirMasses) {
  constexpr std::uint64_t words = 1 << 16;
  for (const RepetitionLaw& law : repetition_laws) {
    std::map<std::uint64_t, double> counts;
    for (std::uint64_t i = 0; i < words; ++i) counts[repetitions(law, (i << 48) + (1ULL << 47))] += 1;
    const auto p = masses(law);
    for (std::size_t k = 0; k < p.size(); ++k)
      ASSERT_NEAR(counts[k], static_cast<double>(p[k]) * words, 1.001) << law.shape << " " << law.gamma << " " << k;
  }
  for (const std::uint64_t extreme : {std::uint64_t{0}, ~std::uint64_t{0}})
    for (const RepetitionLaw& law : repetition_laws) EXPECT_LT(repetitions(law, extreme), 20000u);
  EXPECT_EQ(repetitions(poisson(0.3), 0), 0u);
  EXPECT_EQ(repetitions(binomial(1, 0.2), 0), 1u);
}

using Rational = boost::multiprecision::cpp_rational;
using Digits = boost::multiprecision::cpp_bin_float_100;

/// Of the 2^63 even words (the last bit decides nothing), how many give each number, from the law's least one on. A
/// larger word never gives less: the first word that gives more is found by bisection, from where `masses` expect
/// it.
std::vector<std::uint64_t> words_drawn(const RepetitionLaw& law, const std::vector<Digits>& masses) {
  constexpr std::uint64_t all = std::uint64_t{1} << 63;
  const std::uint64_t greatest = repetitions(law, ~std::uint64_t{0});
  std::vector<std::uint64_t> counts;
  std::uint64_t first = 0;
  for (std::uint64_t k = law.distribution == Repetitions::poisson ? 0 : 1; k < greatest; ++k) {
    if (repetitions(law, 2 * first) > k) {
      counts.push_back(0);
      continue;
    }
    std::uint64_t low = first, high = all - 1;  // which give k, and more
    const auto narrow = [&](std::uint64_t word) { (repetitions(law, 2 * word) > k ? high : low) = word; };
    const auto expected =
        first + static_cast<std::uint64_t>(std::ldexp(static_cast<Real>(masses[counts.size()]), 63));
    for (const std::uint64_t near : {expected - 4, expected + 4})
      if (near > low && near < high) narrow(near);
    while (high - low > 1) narrow(low + (high - low) / 2);
    counts.push_back(high - first);
    first = high;
  }
  counts.push_back(all - first);
  return counts;
}

/// As many masses as are asked for, from the least number on, by the definition in 100 digits.
std::vector<Digits> stated_masses(const RepetitionLaw& law, std::size_t count) {
  const Digits gamma = law.gamma, s = law.shape, mean = law.mean;
  const bool poisson = law.distribution == Repetitions::poisson;
  std::vector<Digits> p{poisson  ? Digits(exp(-mean))
                        : s == 0 ? Digits((1 - gamma) / -log(gamma))
                                 : Digits((1 - gamma) * s / (pow(gamma, -s) - 1))};
  while (p.size() < count) {
    const auto k = static_cast<double>(p.size());
    p.push_back(p.back() * (poisson ? Digits(mean / k) : Digits((1 - gamma) * (k + s) / (k + 1))));
  }
  return p;
}

// What docs/theory/selection.md states of the drawn law, and what the plan charges for it: counted over all 2^64
// words, against the law in 100 digits.
TEST(Repetitions, AreDrawnByTheLawUpToWhatIsCharged) {
  std::vector<RepetitionLaw> all = repetition_laws;
  for (const auto& law : {binomial(-0.9, 0.02), binomial(-0.999, 0.05), binomial(1e-13, 0.1), binomial(100, 0.9),
                          binomial(1, 0.99999), poisson(1e-9), poisson(60)})
    all.push_back(law);
  for (const RepetitionLaw& law : all) {
    SCOPED_TRACE(std::to_string(law.shape) + " " + std::to_string(law.gamma) + " " + std::to_string(law.mean));
    const std::vector<Digits> stated = stated_masses(law, 4000);
    const std::vector<std::uint64_t> drawn = words_drawn(law, stated);
    ASSERT_LT(drawn.size(), stated.size());
    Digits distance = 0, rest = 1;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      distance += abs(drawn[i] * pow(Digits(2), -63) - stated[i]) / 2;
      rest -= stated[i];
    }
    const double off = static_cast<double>(Digits(distance + abs(rest) / 2));
    const double mean = std::max(1.0, expected_repetitions(law));
    EXPECT_LE(off, 0x1p-46 * mean);
    EXPECT_LE(off, static_cast<double>(drawn.size()) * 0x1p-64 + mean * 0x1p-60);
  }
}

// A geometric law has rational masses: each number is given by the nearest whole number of the 2^63 words, but for
// the last bits of the mass.
TEST(Repetitions, OfAGeometricLawAreDrawnByRationalMasses) {
  for (const double gamma : {0.5, 0.2, 0.95}) {
    const RepetitionLaw law = binomial(1, gamma);
    Rational mass(gamma), worst = 0;
    for (const std::uint64_t words : words_drawn(law, stated_masses(law, 400))) {
      worst = std::max<Rational>(worst, abs(words - mass * (std::uint64_t{1} << 63)));
      mass *= 1 - Rational(gamma);
    }
    EXPECT_LE(static_cast<double>(worst), 4) << gamma;
  }
}

}  // namespace
}  // namespace dpmpi::repetitions_test
