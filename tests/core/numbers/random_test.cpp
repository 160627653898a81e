// Known answers of both generators, the distribution of the normals at 10^7 draws, and injected faults that the
// same statistics must catch.
#include "core/numbers/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "core/files/digest.hpp"

namespace dpmpi::random_test {
namespace {

std::vector<std::uint8_t> bytes_of(std::span<const std::uint64_t> words) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(words.data());
  return {p, p + 8 * words.size()};
}

// RFC 8439, 2.3.2 block test: key 00..1f, nonce 000000090000004a00000000, counter 1.
TEST(SecretStream, MatchesRfc8439) {
  std::array<std::uint8_t, 32> key;
  std::iota(key.begin(), key.end(), std::uint8_t{0});
  SecretStream stream(SecretKey::from_bytes(key));
  std::array<std::uint64_t, 8> words{};
  stream.words(/*step=*/0x000000004a000000, /*site=*/0x09000000, /*first=*/8, words);
  const std::vector<std::uint8_t> expected{
      0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15, 0x50, 0x0f, 0xdd, 0x1f, 0xa3, 0x20, 0x71, 0xc4,
      0xc7, 0xd1, 0xf4, 0xc7, 0x33, 0xc0, 0x68, 0x03, 0x04, 0x22, 0xaa, 0x9a, 0xc3, 0xd4, 0x6c, 0x4e,
      0xd2, 0x82, 0x64, 0x46, 0x07, 0x9f, 0xaa, 0x09, 0x14, 0xc2, 0xd7, 0x05, 0xd9, 0x8b, 0x02, 0xa2,
      0xb5, 0x12, 0x9c, 0xd1, 0xde, 0x16, 0x4e, 0xb9, 0xcb, 0xd0, 0x83, 0xe8, 0xa2, 0x50, 0x3c, 0x4e};
  EXPECT_EQ(bytes_of(words), expected);
}

// Philox, whose known answers public_counter_test.cpp has, under the seed; its counter is the block of two words
// and the first 64 bits of SHA-256("public/PURPOSE/STEP").
TEST(PublicStream, IsPhiloxOfSeedPurposeAndStep) {
  constexpr std::uint64_t seed = 0x0123456789abcdef;
  const PublicStream stream(seed, "order", 3);
  const std::string digest = sha256("public/order/3");
  const auto word = [&](std::size_t at) {
    return static_cast<std::uint32_t>(std::stoul(digest.substr(at, 8), nullptr, 16));
  };
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{6}, std::uint64_t{2} << 40}) {
    const std::uint64_t block = first / 2;
    const auto expected = PublicCounter(seed, 0).block(
        {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), word(0), word(8)});
    std::array<std::uint64_t, 2> words{};
    stream.words(first, words);
    EXPECT_EQ(words[0], expected[0] | std::uint64_t{expected[1]} << 32);
    EXPECT_EQ(words[1], expected[2] | std::uint64_t{expected[3]} << 32);
    EXPECT_EQ(stream.word(first + 1), words[1]);
  }
}

TEST(SecretStream, AnyPartCanBeDrawnAgain) {
  SecretStream stream(SecretKey::from_seed(7));
  std::vector<double> whole(5000), part(777);
  stream.normals(3, 1, 0, whole);
  stream.normals(3, 1, 1024 + 64, part);
  for (std::size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], whole[1024 + 64 + i]);
}

TEST(SecretKey, SystemKeysDifferAndDerivedKeysAreIndependentOfTheOrder) {
  EXPECT_NE(SecretKey::from_system().authenticate("x"), SecretKey::from_system().authenticate("x"));
  const SecretKey key = SecretKey::from_seed(1);
  EXPECT_EQ(key.derive("a", 2).authenticate("x"), SecretKey::from_seed(1).derive("a", 2).authenticate("x"));
  EXPECT_NE(key.derive("a", 2).authenticate("x"), key.derive("a", 3).authenticate("x"));
  EXPECT_NE(key.derive("a", 2).authenticate("x"), key.derive("b", 2).authenticate("x"));
}

TEST(SecretKey, AMessageInPiecesHasTheMacOfTheWhole) {
  const SecretKey key = SecretKey::from_seed(1);
  Authenticator pieces(key), other(key.derive("a"));
  for (const char* piece : {"on", "", "e two"}) pieces.update(piece), other.update(piece);
  const std::string mac = pieces.hex();
  EXPECT_EQ(mac, key.authenticate("one two"));
  EXPECT_EQ(mac.size(), 64U);
  EXPECT_NE(other.hex(), mac);
}

// Public seeds can never become secret keys by accident: no conversion exists in either direction.
static_assert(!std::is_convertible_v<PublicStream, SecretKey> &&
              !std::is_constructible_v<SecretStream, PublicStream>);
static_assert(!std::is_constructible_v<SecretStream, std::uint64_t> &&
              !std::is_constructible_v<PublicStream, SecretKey, const char*>);
static_assert(!std::is_default_constructible_v<SecretKey>);

TEST(BoxMuller, AgreesWithTheFormulaTo4e14) {
  const PublicStream stream(11, "words");
  std::vector<std::uint64_t> words(20000);
  stream.words(0, words);
  words[0] = 0, words[1] = 0;                                  // the largest radius
  words[2] = ~std::uint64_t{0}, words[3] = ~std::uint64_t{0};  // the smallest
  std::vector<double> out(words.size());
  box_muller(words, out);
  const long double two_pi = 2 * std::acos(-1.0L);
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const long double u = (static_cast<long double>(words[i]) + 0.5L) * 0x1p-64L;
    const long double v = static_cast<long double>(words[i + 1] >> 11) * 0x1p-53L;
    const long double r = std::sqrt(-2 * std::log(u));
    ASSERT_NEAR(out[i], static_cast<double>(r * std::cos(two_pi * v)), 4e-14) << i;
    ASSERT_NEAR(out[i + 1], static_cast<double>(r * std::sin(two_pi * v)), 4e-14) << i;
  }
  EXPECT_GT(out[0], 9.4);
}

TEST(PortableLog, AgreesWithLibm) {
  for (double x : {1e-300, 1e-17, 0.1, 0.7071067811865475, 0.9999999999, 1.0, 1.0000001, 1.5, 2.0, 1e10, 1e300})
    EXPECT_NEAR(portable_log(x), std::log(x), 3e-16 * std::max(1.0, std::abs(std::log(x)))) << x;
}

struct Moments {
  double mean = 0, variance = 0, skew = 0, kurtosis = 0, lag = 0, distance = 0, tail4 = 0;
};

// Sample moments, lag-1 correlation, Kolmogorov-Smirnov distance (at 2,048 edges, 1/128 apart) and the share beyond
// 4 sigma.
Moments measure(const std::vector<double>& x) {
  Moments m;
  const auto n = static_cast<double>(x.size());
  constexpr int bins = 2048;
  std::array<std::uint64_t, bins + 2> histogram{};
  double before = x.back();
  for (const double v : x) {
    m.mean += v, m.variance += v * v, m.skew += v * v * v, m.kurtosis += v * v * v * v, m.lag += v * before;
    m.tail4 += std::abs(v) > 4;
    before = v;
    ++histogram[static_cast<std::size_t>(std::clamp(std::floor(v * 128) + bins / 2, -1.0, 1.0 * bins) + 1)];
  }
  for (double* sum : {&m.mean, &m.variance, &m.skew, &m.kurtosis, &m.lag, &m.tail4}) *sum /= n;
  std::uint64_t below = 0;
  for (int i = 0; i <= bins; ++i) {
    below += histogram[static_cast<std::size_t>(i)];
    const double edge = (i - bins / 2) / 128.0;
    m.distance =
        std::max(m.distance, std::abs(0.5 * std::erfc(-edge / std::sqrt(2.0)) - static_cast<double>(below) / n));
  }
  return m;
}

// Two-sided checks at 5 standard errors (false alarm about 10^-6 each); sqrt(n) D at 2.7 is also about 10^-6.
bool looks_normal(const Moments& m, double n) {
  const double se = 5 / std::sqrt(n);
  const double p4 = std::erfc(4 / std::sqrt(2.0));
  return std::abs(m.mean) < se && std::abs(m.variance - 1) < se * std::sqrt(2.0) &&
         std::abs(m.skew) < se * std::sqrt(15.0) && std::abs(m.kurtosis - 3) < se * std::sqrt(96.0) &&
         std::abs(m.lag) < se && m.distance * std::sqrt(n) < 2.7 && std::abs(m.tail4 - p4) < 5 * std::sqrt(p4 / n);
}

TEST(SecretStream, TenMillionNormalsAreNormalAndIndependent) {
  constexpr std::size_t n = 10'000'000;
  SecretStream stream(SecretKey::from_seed(20261120));
  std::vector<double> x(n);
  stream.normals(0, 0, 0, x);
  EXPECT_TRUE(looks_normal(measure(x), static_cast<double>(n)));
  // Over steps at the same coordinate, and over sites: correlation of neighbouring streams.
  constexpr std::size_t width = 64, steps = 20000;
  std::vector<double> row(width), before(width), other(width);
  double over_steps = 0, over_sites = 0;
  for (std::size_t t = 0; t < steps; ++t) {
    stream.normals(t, 0, 0, row);
    stream.normals(t, 1, 0, other);
    for (std::size_t j = 0; j < width; ++j) over_steps += row[j] * before[j], over_sites += row[j] * other[j];
    before = row;
  }
  const double scale = std::sqrt(static_cast<double>(width * steps));
  EXPECT_LT(std::abs(over_steps), 5 * scale);
  EXPECT_LT(std::abs(over_sites), 5 * scale);
}

// The statistics above must be able to fail: noise 0.2 % too small, repeated draws, a cut tail, a biased coin.
TEST(SecretStream, InjectedFaultsAreCaught) {
  constexpr std::size_t n = 10'000'000;
  SecretStream stream(SecretKey::from_seed(5));
  std::vector<double> x(n);
  stream.normals(0, 0, 0, x);
  auto fault = [&](auto change) {
    std::vector<double> y = x;
    change(y);
    return looks_normal(measure(y), static_cast<double>(n));
  };
  EXPECT_FALSE(fault([](auto& y) {
    for (auto& v : y) v *= 0.998;
  }));
  EXPECT_FALSE(fault([](auto& y) {
    for (std::size_t i = 0; i + 1 < y.size(); i += 16) y[i + 1] = y[i];
  }));
  EXPECT_FALSE(fault([](auto& y) {
    for (auto& v : y) v = std::clamp(v, -4.0, 4.0);
  }));
  EXPECT_FALSE(fault([](auto& y) {
    for (std::size_t i = 0; i < y.size(); i += 100) y[i] = std::abs(y[i]);
  }));
}

TEST(PublicStream, DrawsAreReproducibleAndWellSpread) {
  const PublicStream a(1, "order", 3), b(1, "order", 3), c(1, "order", 4), d(2, "order", 3);
  EXPECT_EQ(a.word(5), b.word(5));
  EXPECT_NE(a.word(5), c.word(5));
  EXPECT_NE(a.word(5), d.word(5));
  auto order = a.permutation(1000);
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(order[i], i);
  std::array<int, 6> faces{};
  for (std::uint64_t i = 0; i < 60000; ++i) ++faces[a.below(i, 6)];
  for (const int count : faces) EXPECT_NEAR(count, 10000, 5 * std::sqrt(10000 * 5.0 / 6));
}

TEST(SecretReader, BelowIsUniform) {
  SecretStream stream(SecretKey::from_seed(3));
  SecretReader reader(stream, 0, 0);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts[reader.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 5 * std::sqrt(10000 * 6.0 / 7));
}

}  // namespace
}  // namespace dpmpi::random_test
