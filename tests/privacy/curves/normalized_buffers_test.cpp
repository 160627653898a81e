// Buffered strategies with columns of norm 1: the norms, the noise that is left, the decoder.
#include "privacy/curves/normalized_buffers.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <Eigen/Core>
#include <boost/multiprecision/cpp_int.hpp>

#include "core/errors.hpp"
#include "privacy/curator/prefix_noise.hpp"
#include "privacy/curves/buffer_search.hpp"
#include "privacy/curves/strategy.hpp"
#include "problems/least_error.hpp"
#include "support/close.hpp"

namespace dpmpi::normalized_buffers_test {
namespace {

using Rational = boost::multiprecision::cpp_rational;

Buffers buffers(std::initializer_list<std::pair<double, double>> decays_and_weights) {
  Buffers all;
  for (const auto& [decay, weight] : decays_and_weights) {
    all.decay[all.count] = decay;
    all.weight[all.count++] = weight;
  }
  return all;
}

const std::vector<Buffers>& examples() {
  static const std::vector<Buffers> all{
      {},
      buffers({{0.5, 0.5}}),
      lambda_buffer(0.9),
      buffers({{1 - 0x1p-20, 0.99}}),
      buffers({{0.99, 0.01}, {0.3, 0.4}, {1e-3, 1e-9}}),
      best_buffers(4, 300, {}),
  };
  return all;
}

Tree normalized(const Buffers& b, std::uint64_t n) {
  return {.strategy = Strategy::normalized_blt, .leaves = n, .noise_multiplier = 1, .buffers = b};
}

// c_0, c_1, ... as the exact numbers that the doubles stand for.
std::vector<Rational> coefficients(const Buffers& b, std::size_t n) {
  std::vector<Rational> c{1}, share;
  for (std::size_t i = 0; i < b.count; ++i) share.emplace_back(b.weight[i]);
  while (c.size() < n) {
    c.emplace_back(0);
    for (std::size_t i = 0; i < b.count; ++i) c.back() += share[i], share[i] *= Rational(b.decay[i]);
  }
  return c;
}

// The claim that the certificate rests on: no column is longer than 1, in exact arithmetic.
TEST(NormalizedBuffers, NoColumnIsLongerThanOne) {
  for (const Buffers& b : examples())
    for (const std::size_t n : {1u, 2u, 7u, 12u}) {
      const std::vector<Rational> c = coefficients(b, n);
      const std::vector<double> norms = column_norms(b, n);
      ASSERT_EQ(norms.size(), n);
      for (std::size_t s = 0; s < n; ++s) {
        Rational squares = 0;
        for (std::size_t j = 0; j < n - s; ++j) squares += c[j] * c[j];
        const Rational scale = Rational(norms[s]) * Rational(norms[s]);
        EXPECT_LE(squares, scale) << b.count << " buffers, column " << s + 1 << " of " << n;
        EXPECT_LE(scale, squares * (1 + Rational(0x1p-38)))
            << b.count << " buffers, column " << s + 1 << " of " << n;
      }
    }
}

// Against the closed form, which is rounded up, too.
TEST(NormalizedBuffers, LongColumnsAgreeWithTheClosedForm) {
  const Buffers b = best_buffers(4, 100000, {});
  const std::vector<double> norms = column_norms(b, 100000);
  for (const std::size_t s : {0u, 1u, 500u, 50000u, 99990u, 99999u}) {
    Tree rest{.strategy = Strategy::blt, .leaves = 100000 - s, .noise_multiplier = 1, .buffers = b};
    test::expect_close(norms[s] * norms[s], squared_sensitivity(rest), 0x1p-36, fmt::format("column {}", s + 1));
  }
}

TEST(NormalizedBuffers, ARecordCostsOneInEveryLeaf) {
  for (const Buffers& b : examples()) {
    Tree tree = normalized(b, 50);
    EXPECT_EQ(squared_sensitivity(tree), 1);
    tree.first_leaf = 3;
    test::expect_close(squared_sensitivity(tree), 9, 0x1p-48, "a first leaf of 3");
    EXPECT_GE(squared_sensitivity(tree), 9);
    tree.first_leaf = 0.5;
    EXPECT_EQ(squared_sensitivity(tree), 1);
  }
}

// L D^-1 C^-1 of the strategy C D, in double.
Eigen::MatrixXd decoder(const Buffers& b, Eigen::Index n) {
  const std::vector<Rational> c = coefficients(b, static_cast<std::size_t>(n));
  Eigen::MatrixXd C = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index t = 0; t < n; ++t)
    for (Eigen::Index s = 0; s <= t; ++s) C(t, s) = static_cast<double>(c[static_cast<std::size_t>(t - s)]);
  const Eigen::VectorXd norms = C.colwise().norm();
  Eigen::MatrixXd D = C.triangularView<Eigen::Lower>().solve(Eigen::MatrixXd::Identity(n, n));
  D = norms.asDiagonal() * D;
  for (Eigen::Index t = 1; t < n; ++t) D.row(t) += D.row(t - 1);
  return D;
}

TEST(NormalizedBuffers, VarianceIsThatOfTheDecoder) {
  for (const Buffers& b : examples())
    for (const Eigen::Index n : {1, 2, 5, 40}) {
      const Eigen::VectorXd rows = decoder(b, n).rowwise().squaredNorm();
      const Tree tree = normalized(b, static_cast<std::uint64_t>(n));
      for (Eigen::Index t = 0; t < n; ++t)
        test::expect_close(prefix_noise_variance(tree, static_cast<std::uint64_t>(t + 1)), rows[t], 1e-9,
                           fmt::format("prefix {} of {}", t + 1, n));
      test::expect_close(mean_prefix_noise_variance(tree), rows.mean(), 1e-9, fmt::format("mean of {}", n));
    }
}

// A draw of 1 at one leaf shows a column of the decoder; a second run begins anew.
TEST(NormalizedBuffers, NoiseIsThatOfTheDecoder) {
  for (const Buffers& b : examples()) {
    constexpr Eigen::Index n = 12;
    const Eigen::MatrixXd D = decoder(b, n);
    PrefixNoise noise(normalized(b, n), 3);
    for (Eigen::Index s = 0; s < n; ++s) {
      noise.restart();
      for (Eigen::Index t = 0; t < n; ++t) {
        const auto z = noise.next(1, [&](std::uint32_t, std::span<double> xi) {
          for (std::size_t j = 0; j < xi.size(); ++j) xi[j] = t == s ? static_cast<double>(j) : 0;
        });
        for (std::size_t j = 0; j < z.size(); ++j)
          EXPECT_NEAR(z[j], static_cast<double>(j) * (t < s ? 0 : D(t, s)), 1e-9) << t << " " << s;
      }
    }
  }
}

TEST(NormalizedBuffers, LeaveTwoPercentMoreNoiseThanTheLeast) {
  for (const std::uint64_t n : {4u, 16u, 64u}) {
    const Buffers found = best_buffers(4, n, {});
    const double least = std::sqrt(test::least_error_of_prefixes(static_cast<Eigen::Index>(n)));
    const double error = std::sqrt(mean_prefix_noise_variance(normalized(found, n)));
    EXPECT_GE(error, least * (1 - 1e-9)) << n;
    EXPECT_LE(error, 1.02 * least) << n;
  }
}

TEST(NormalizedBuffers, AreRefusedWhereTheyAreNotBounded) {
  Tree several = normalized(buffers({{0.5, 0.5}}), 12);
  several.participations = 2;
  several.separation = 6;
  EXPECT_THROW(squared_sensitivity(several), PrivacyError)
      << "the worst pattern is known of Toeplitz matrices alone";
  EXPECT_THROW(squared_sensitivity(normalized({}, (1 << 20) + 1)), PrivacyError);
}

}  // namespace
}  // namespace dpmpi::normalized_buffers_test
