#include "objective/math/frames.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>
#include <boost/math/distributions/beta.hpp>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "support/allocations.hpp"

namespace dpmpi::test::frames_test {
namespace {

constexpr std::uint64_t key = 0x5eed5eed5eed5eedULL;
using enum DirectionLaw;
using Values = std::vector<double>;

/// U (d x K, row-major) of the frame that was begun last.
Values all_rows(Frames& frames) {
  Values u;
  for (std::size_t first = 0; first < frames.dim(); first += frames.tile_rows()) {
    const std::size_t rows = std::min(frames.tile_rows(), frames.dim() - first);
    const double* tile = frames.tile(first, rows);
    u.insert(u.end(), tile, tile + rows * frames.count());
  }
  return u;
}

Values frame(DirectionLaw law, std::size_t d, std::size_t K, std::uint64_t step, std::size_t tile_bytes = 1 << 25) {
  Frames frames(law, d, K, key, tile_bytes);
  frames.begin(step);
  return all_rows(frames);
}

/// Largest entry of |U^T U - I|, summed in long double.
double deviation(const Values& u, std::size_t K) {
  double largest = 0;
  for (std::size_t a = 0; a < K; ++a)
    for (std::size_t b = a; b < K; ++b) {
      long double sum = a == b ? -1 : 0;
      for (std::size_t j = 0; j < u.size(); j += K) sum += static_cast<long double>(u[j + a]) * u[j + b];
      largest = std::max(largest, static_cast<double>(std::abs(sum)));
    }
  return largest;
}

TEST(Frames, ColumnsAreOrthonormal) {
  const std::size_t shapes[][2] = {{1, 1},   {7, 1},   {1000, 1},  {2, 2},     {5, 4},     {50, 5},    {50, 49},
                                   {50, 50}, {200, 7}, {300, 200}, {400, 200}, {999, 101}, {5000, 33}, {20000, 8}};
  for (const auto& [d, K] : shapes)
    for (std::uint64_t step = 0; step < 3; ++step)
      EXPECT_LE(deviation(frame(stiefel, d, K, step), K), 1e-12) << d << " x " << K << ", step " << step;
}

// Square Gaussian matrices are often badly conditioned: the second pass and new draws must repair all of them.
TEST(Frames, SquareFramesAreOrthonormalInEveryStep) {
  constexpr std::size_t d = 12;
  Frames frames(stiefel, d, d, key);
  double worst = 0;
  for (std::uint64_t step = 0; step < 5000; ++step) {
    frames.begin(step);
    worst = std::max(worst, deviation(all_rows(frames), d));
  }
  EXPECT_LE(worst, 1e-12);
}

// The first normals of these steps are too badly conditioned, and new ones are drawn.
TEST(Frames, StepsThatDrawTwiceAreOrthonormalForAnyTileSize) {
  EXPECT_LE(deviation(frame(stiefel, 12, 12, 24300), 12), 1e-12);
  EXPECT_LE(deviation(frame(stiefel, 30, 30, 2044), 30), 1e-12);
  const Values whole = frame(stiefel, 300, 300, 301);
  EXPECT_LE(deviation(whole, 300), 1e-12);
  EXPECT_EQ(frame(stiefel, 300, 300, 301, 1), whole);
}

TEST(Frames, BitsAreTheSameForAnyTileSize) {
  for (const DirectionLaw law : {stiefel, sphere_iid, sphere_sqrtd, gauss})
    for (const auto& [d, K] : {std::pair<std::size_t, std::size_t>{1111, 5}, {1111, 24}, {1300, 700}, {2000, 1}}) {
      const Values whole = frame(law, d, K, 3);
      for (const std::size_t bytes : {std::size_t{1}, 700 * K * 8})
        EXPECT_EQ(frame(law, d, K, 3, bytes), whole) << d << ' ' << K;
    }
}

// Ranks may be on machines with different instruction sets: g++ and clang, AVX-512 and AVX2 gave these bits.
TEST(Frames, BitsAreTheSameOnEveryMachine) {
  const auto digest = [](const Values& u) {
    return sha256({reinterpret_cast<const char*>(u.data()), u.size() * sizeof(double)}).substr(0, 16);
  };
  EXPECT_EQ(digest(frame(stiefel, 300, 7, 3)), "1f1817fda9dc0feb");
  EXPECT_EQ(digest(frame(stiefel, 50, 50, 3)), "bb901aaa6e8ead12");
  EXPECT_EQ(digest(frame(sphere_sqrtd, 200, 3, 3)), "8032d9539b8e18fb");
}

TEST(Frames, DependOnKeyAndStepOnly) {
  Frames frames(stiefel, 40, 6, key), other(stiefel, 40, 6, key + 1);
  frames.begin(7);
  other.begin(7);
  const Values seventh = all_rows(frames);
  EXPECT_NE(seventh, all_rows(other));
  frames.begin(8);
  EXPECT_NE(seventh, all_rows(frames));
  frames.begin(7);
  EXPECT_EQ(seventh, all_rows(frames));
}

TEST(Frames, IndependentColumnsHaveTheLengthOfTheirLaw) {
  constexpr std::size_t d = 300, K = 9;
  for (const auto& [law, square] : {std::pair{sphere_iid, 1.0}, {sphere_sqrtd, 300.0}}) {
    const Values u = frame(law, d, K, 1);
    for (std::size_t k = 0; k < K; ++k) {
      double sum = 0;
      for (std::size_t j = k; j < u.size(); j += K) sum += u[j] * u[j];
      EXPECT_NEAR(sum / square, 1, 1e-13);
    }
  }
  const Values g = frame(gauss, 20000, 4, 1);
  double sum = 0, square = 0;
  for (const double v : g) sum += v, square += v * v;
  const double n = static_cast<double>(g.size());
  EXPECT_LE(std::abs(sum) / std::sqrt(n), 4);
  EXPECT_LE(std::abs(square - n) / std::sqrt(2 * n), 4);
}

/// |U^T e|^2 for the first unit vector e and for a dense one, over many steps.
struct Shares {
  Values first, dense;
  Shares(std::size_t d, std::size_t K, std::uint64_t draws) {
    Frames frames(stiefel, d, K, key);
    const Values one(d, 1 / std::sqrt(static_cast<double>(d)));
    Values along(K);
    const auto square = [&] {
      double s = 0;
      for (const double a : along) s += a * a;
      return s;
    };
    for (std::uint64_t t = 0; t < draws; ++t) {
      frames.begin(t);
      std::copy_n(frames.tile(0, 1), K, along.begin());
      first.push_back(square());
      frames.project(one, along);
      dense.push_back(square());
    }
  }
};

/// Means and variances of Beta(K / 2, (d - K) / 2), within `errors` standard errors.
void expect_beta_moments(const Values& shares, double d, double K, double errors) {
  double mean = 0, second = 0, fourth = 0;
  const double n = static_cast<double>(shares.size());
  for (const double s : shares) mean += s / n;
  for (const double s : shares) second += std::pow(s - mean, 2) / n, fourth += std::pow(s - mean, 4) / n;
  EXPECT_NEAR(mean, K / d, errors * std::sqrt(second / n));
  EXPECT_NEAR(second, 2 * K * (d - K) / (d * d * (d + 2)), errors * std::sqrt((fourth - second * second) / n));
}

/// p-value of the Kolmogorov-Smirnov test.
double kolmogorov(Values sample, const boost::math::beta_distribution<>& law) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double largest = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double F = cdf(law, sample[i]), at = static_cast<double>(i);
    largest = std::max({largest, F - at / n, (at + 1) / n - F});
  }
  double p = 0;
  for (int j = 1; j < 100; ++j) p += 2 * (j % 2 == 1 ? 1 : -1) * std::exp(-2.0 * j * j * n * largest * largest);
  return p;
}

TEST(Frames, SharesOfAFixedVectorFollowTheBetaLaw) {
  const Shares shares(50, 5, 40000);
  for (const Values& sample : {shares.first, shares.dense}) {
    expect_beta_moments(sample, 50, 5, 4);
    double mean = 0;
    for (const double s : sample) mean += s / static_cast<double>(sample.size());
    EXPECT_NEAR(mean, 0.1, 2e-3);
    EXPECT_GT(kolmogorov(sample, boost::math::beta_distribution<>(2.5, 22.5)), 1e-3);
  }
}

TEST(Frames, SharesFollowTheBetaLawWhereCountIsNearTheDimension) {
  const Shares shares(8, 7, 20000);
  for (const Values& sample : {shares.first, shares.dense}) {
    expect_beta_moments(sample, 8, 7, 4);
    EXPECT_GT(kolmogorov(sample, boost::math::beta_distribution<>(3.5, 0.5)), 1e-3);
  }
}

// A Haar frame has no preferred sign: of the diagonal of R or of the first column.
TEST(Frames, EntriesAreSymmetric) {
  Frames frames(stiefel, 10, 10, key);
  Values sums(100);
  constexpr int draws = 4000;
  for (std::uint64_t t = 0; t < draws; ++t) {
    frames.begin(t);
    const double* u = frames.tile(0, 10);
    for (std::size_t i = 0; i < 100; ++i) sums[i] += u[i];
  }
  for (const double s : sums) EXPECT_LE(std::abs(s), 4.5 * std::sqrt(draws / 10.0));
}

TEST(Frames, ProjectAndAddAreProductsWithTheFrame) {
  constexpr std::size_t d = 1000, K = 12;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 25}) {
    Frames frames(stiefel, d, K, key, bytes);
    frames.begin(2);
    const Values u = all_rows(frames);
    Values v(d), along(K), expected(K);
    for (std::size_t j = 0; j < d; ++j) v[j] = std::sin(static_cast<double>(j));
    frames.project(v, along);
    for (std::size_t i = 0; i < u.size(); ++i) expected[i % K] += u[i] * v[i / K];
    for (std::size_t k = 0; k < K; ++k) EXPECT_NEAR(along[k], expected[k], 1e-13);
    // v - U U^T v is orthogonal to the frame.
    for (double& a : along) a = -a;
    frames.add(along, v);
    frames.project(v, along);
    for (const double a : along) EXPECT_NEAR(a, 0, 1e-13);
  }
}

TEST(Frames, AStepAllocatesNothing) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 25}) {
    Frames frames(stiefel, 3000, 40, key, bytes);
    frames.begin(0);
    const std::size_t before = allocation_count();
    frames.begin(1);
    frames.tile(0, 4);
    EXPECT_EQ(allocation_count(), before);
  }
}

TEST(Frames, RefuseWhatCannotBeOrthonormal) {
  EXPECT_THROW(Frames(stiefel, 3, 4, key), ConfigError);
  EXPECT_THROW(Frames(stiefel, 0, 1, key), ConfigError);
  EXPECT_THROW(Frames(gauss, 3, 0, key), ConfigError);
  EXPECT_NO_THROW(Frames(gauss, 3, 4, key));
}

}  // namespace
}  // namespace dpmpi::test::frames_test
