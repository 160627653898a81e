#include "privacy/curves/buffered_toeplitz.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curves/buffer_search.hpp"
#include "privacy/curves/strategy.hpp"
#include "support/close.hpp"

namespace dpmpi::buffered_toeplitz_test {
namespace {

using test::expect_close;
using Numbers = std::vector<long double>;

Buffers buffers(const std::vector<std::pair<double, double>>& decays_and_weights) {
  Buffers b;
  for (const auto& [decay, weight] : decays_and_weights) {
    b.decay[b.count] = decay;
    b.weight[b.count++] = weight;
  }
  return b;
}

const Buffers some_buffers[] = {buffers({}),
                                lambda_buffer(0.5),
                                lambda_buffer(0.99),
                                buffers({{0.5, 0.25}}),
                                buffers({{0.97, 0.3}, {0.4, 0.3}}),
                                buffers({{1 - 0x1p-20, 0.01}, {0.999, 0.02}, {0.9, 0.2}, {0.3, 0.76}})};

Tree tree_with(const Buffers& b, std::uint64_t leaves, std::uint64_t participations = 1,
               std::uint64_t separation = 1) {
  Tree tree{Strategy::blt, leaves, 1};
  tree.buffers = b;
  tree.participations = participations;
  tree.separation = participations > 1 ? separation : 0;
  return tree;
}

// c_0, ..., c_{n-1} from their definitions.
Numbers coefficients(const Tree& tree) {
  Numbers c{1};
  for (std::uint64_t j = 1; j < tree.leaves; ++j) {
    long double next = 0;
    if (tree.strategy == Strategy::blt)
      for (std::size_t i = 0; i < tree.buffers.count; ++i)
        next += static_cast<long double>(tree.buffers.weight[i]) *
                std::pow(static_cast<long double>(tree.buffers.decay[i]), static_cast<long double>(j - 1));
    else if (tree.strategy == Strategy::sqrt_toeplitz || j < tree.band)
      next = c.back() * static_cast<long double>(2 * j - 1) / static_cast<long double>(2 * j);
    c.push_back(next);
  }
  return c;
}

// The largest |sum_i sign_i C e_i|^2 over all sets of up to k leaves at least b apart, and all signs.
long double worst_pattern(const Tree& tree) {
  const Numbers c = coefficients(tree);
  long double worst = 0;
  const std::function<void(std::uint64_t, std::uint64_t, const Numbers&)> go =
      [&](std::uint64_t from, std::uint64_t left, const Numbers& sum) {
        long double square = 0;
        for (const long double x : sum) square += x * x;
        worst = std::max(worst, square);
        for (std::uint64_t leaf = from; leaf < tree.leaves && left > 0; ++leaf)
          for (const long double sign : {1.0L, -1.0L}) {
            Numbers next = sum;
            for (std::uint64_t t = leaf; t < tree.leaves; ++t) next[t] += sign * c[t - leaf];
            go(leaf + std::max<std::uint64_t>(tree.separation, 1), left - 1, next);
          }
      };
  go(0, tree.participations, Numbers(tree.leaves));
  return worst;
}

void expect_worst_pattern(const Tree& tree) {
  const double found = squared_sensitivity(tree);
  const auto expected = static_cast<double>(worst_pattern(tree));
  const std::string what = fmt::format("{} n={} k={} b={} band={} buffers={}", name(tree.strategy), tree.leaves,
                                       tree.participations, tree.separation, tree.band, tree.buffers.count);
  EXPECT_GE(found, expected) << what;
  EXPECT_LE(found, expected * (1 + 0x1p-39)) << what;
}

TEST(SeveralParticipations, CostWhatTheWorstOfAllPatternsCosts) {
  for (std::uint64_t leaves = 1; leaves <= 12; ++leaves)
    for (std::uint64_t k = 1; k <= 4; ++k)
      for (std::uint64_t b = 1; b <= leaves; b += 1 + b / 3) {
        for (const Buffers& some : some_buffers) expect_worst_pattern(tree_with(some, leaves, k, b));
        Tree tree = tree_with({}, leaves, k, b);
        tree.strategy = Strategy::sqrt_toeplitz;
        expect_worst_pattern(tree);
        tree.strategy = Strategy::banded;
        for (tree.band = 1; tree.band <= leaves; tree.band += 1 + tree.band / 2) expect_worst_pattern(tree);
      }
}

// Coefficients that rise have worse patterns than the regular one: why events refuse weights of 1 and more.
TEST(SeveralParticipations, TheRegularPatternIsNotWorstForRisingCoefficients) {
  const Numbers c{1, 3, 0, 0};
  const auto cost = [&](std::uint64_t first, std::uint64_t second) {
    long double sum = 0;
    for (std::uint64_t t = 0; t < 4; ++t) {
      long double row = 0;
      for (const std::uint64_t leaf : {first, second})
        if (t >= leaf) row += c[t - leaf];
      sum += row * row;
    }
    return sum;
  };
  EXPECT_GT(cost(0, 1), cost(0, 2)) << "the closest leaves that are allowed";
  EXPECT_LT(cost(2, 3), cost(1, 2));
  EXPECT_THROW(squared_sensitivity(tree_with(buffers({{0.5, 0.5}, {0.25, 0.5}}), 4)), PrivacyError);
}

// Long runs against the sum row by row, rounded up and not by much.
TEST(SeveralParticipations, LongRunsAgreeWithRowByRow) {
  for (const Buffers& some : some_buffers)
    for (const auto& [n, k, b] :
         {std::tuple{5000u, 1u, 5000u}, {5000u, 7u, 700u}, {5000u, 12u, 500u}, {999u, 3u, 10u}}) {
      long double sum = 0;
      Numbers held(some.count);
      for (std::uint64_t t = 0; t < n; ++t) {
        const long double one = t % b == 0 && t / b < k ? 1 : 0;
        long double row = one;
        for (std::size_t i = 0; i < some.count; ++i) {
          row += static_cast<long double>(some.weight[i]) * held[i];
          held[i] = static_cast<long double>(some.decay[i]) * held[i] + one;
        }
        sum += row * row;
      }
      const long double found = buffered_norm(some, n, k, b);
      EXPECT_GE(found, sum) << n << " " << k << " " << some.count;
      EXPECT_LE(found, sum * (1 + 0x1p-40L)) << n << " " << k << " " << some.count;
      expect_close(buffered_norm_nearly(some, n, k, b), static_cast<double>(sum), 1e-9, "in double");
    }
}

TEST(SeveralParticipations, OfOneLeafEachApartCostNoMoreThanTheyWouldAlone) {
  for (const Buffers& some : some_buffers) {
    const double one = squared_sensitivity(tree_with(some, 100)),
                 ten = squared_sensitivity(tree_with(some, 1000, 10, 100));
    EXPECT_GE(ten, 10 * one * (1 - 1e-11)) << "columns overlap, and are longer";
    EXPECT_LE(ten, 100 * squared_sensitivity(tree_with(some, 1000)));
  }
}

TEST(PrefixWeights, AreThoseOfTheInverse) {
  for (const Buffers& some : some_buffers) {
    const PrefixWeights weights(some);
    constexpr std::uint64_t n = 300;
    const Numbers c = coefficients(tree_with(some, n));
    Numbers g;
    long double variance = 0, sum = 0;
    for (std::uint64_t j = 0; j < n; ++j) {  // (1 - x) c(x) g(x) = 1, so c(x) g(x) = 1 + x + x^2 + ...
      long double next = 1;
      for (std::uint64_t i = 1; i <= j; ++i) next -= c[i] * g[j - i];
      g.push_back(next);
      variance += next * next;
      sum += variance;
      expect_close(weights.variance(j + 1), static_cast<double>(variance), 1e-10, fmt::format("prefix {}", j + 1));
      expect_close(weights.mean_variance(j + 1), static_cast<double>(sum / static_cast<long double>(j + 1)), 1e-10,
                   "mean");
    }
    EXPECT_EQ(prefix_noise_variance(tree_with(some, n), 7), weights.variance(7));
  }
}

}  // namespace
}  // namespace dpmpi::buffered_toeplitz_test
