#include "privacy/curves/strategy.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curves/sqrt_toeplitz.hpp"
#include "support/close.hpp"

namespace dpmpi::strategy_test {
namespace {

constexpr Strategy all_but_explicit[] = {Strategy::fenwick,       Strategy::full,   Strategy::full_honaker,
                                         Strategy::sqrt_toeplitz, Strategy::banded, Strategy::banded_blt};
constexpr Buffers two_buffers{2, {0.9, 0.5}, {0.25, 0.125}};

Tree tree(Strategy strategy, std::uint64_t leaves, std::uint64_t band = 0) {
  Tree result{.strategy = strategy, .leaves = leaves, .noise_multiplier = 1, .band = band};
  if (has_buffers(strategy)) result.buffers = two_buffers;
  return result;
}

std::string text(const Tree& t) {
  return fmt::format("{} leaves={} band={} first_leaf={}", name(t.strategy), t.leaves, t.band, t.first_leaf);
}

using test::expect_close;

using Row = std::vector<double>;
using Matrix = std::vector<Row>;

// The noised queries, from their definitions: one row for each, in the order in which they can be answered.
Matrix matrix(const Tree& t) {
  Matrix rows;
  const auto sum_over = [&](std::size_t begin, std::size_t end) {  // leaves begin + 1 .. end
    rows.emplace_back(t.leaves);
    for (std::size_t leaf = begin + 1; leaf <= end; ++leaf) rows.back()[leaf - 1] = 1;
  };
  Row c{1};
  for (std::size_t j = 1; j < t.leaves; ++j)
    c.push_back(c.back() * static_cast<double>(2 * j - 1) / static_cast<double>(2 * j));
  if (has_buffers(t.strategy))
    for (std::size_t j = 1; j < t.leaves; ++j)
      c[j] = 0.25 * std::pow(0.9, static_cast<double>(j - 1)) + 0.125 * std::pow(0.5, static_cast<double>(j - 1));
  if (is_banded(t.strategy)) std::fill(c.begin() + static_cast<std::ptrdiff_t>(t.band), c.end(), 0.0);
  for (std::size_t b = 1; b <= t.leaves; ++b) {
    if (t.strategy == Strategy::fenwick) {
      sum_over(b - (b & -b), b);
    } else if (t.strategy == Strategy::full || t.strategy == Strategy::full_honaker) {
      for (std::size_t width = 1; b % width == 0; width *= 2) sum_over(b - width, b);
    } else {
      std::reverse_copy(c.begin(), c.begin() + static_cast<std::ptrdiff_t>(b), rows.emplace_back(t.leaves).begin());
    }
  }
  return rows;
}

// The same square matrix, written out.
Tree written_out(const Tree& t) {
  Tree result = t;
  result.strategy = Strategy::explicit_matrix;
  result.band = 0;
  result.buffers = {};
  const Matrix s = matrix(t);
  for (std::size_t i = 0; i < s.size(); ++i) result.matrix.insert(result.matrix.end(), &s[i][0], &s[i][0] + i + 1);
  return result;
}

double squared_sensitivity_of(const Matrix& s, double first_leaf) {
  Row squares(s[0].size());
  for (const Row& row : s)
    for (std::size_t i = 0; i < row.size(); ++i) squares[i] += row[i] * row[i];
  squares[0] *= first_leaf * first_leaf;
  return *std::max_element(squares.begin(), squares.end());
}

template <class Check>
void for_each_small_tree(Check check) {
  for (std::uint64_t leaves = 1; leaves <= 70; ++leaves)
    for (const Strategy strategy : all_but_explicit) {
      if (!is_banded(strategy)) check(tree(strategy, leaves));
      for (std::uint64_t band = 1; is_banded(strategy) && band <= leaves; band += 1 + band / 3)
        check(tree(strategy, leaves, band));
    }
}

TEST(SquaredSensitivity, IsTheLargestColumnOfTheMatrixOfEveryStrategy) {
  for_each_small_tree([](Tree t) {
    const Matrix s = matrix(t);
    for (const double first_leaf : {1.0, 0.25, 0.97, 1.5}) {
      t.first_leaf = first_leaf;
      const double found = squared_sensitivity(t), expected = squared_sensitivity_of(s, first_leaf);
      expect_close(found, expected, 1e-12, text(t));
      if (t.strategy == Strategy::fenwick && first_leaf == 1) {
        EXPECT_EQ(found, expected) << text(t);
      }
      if (s.size() != t.leaves || t.strategy == Strategy::full || t.strategy == Strategy::full_honaker) continue;
      const double spelled = squared_sensitivity(written_out(t));
      expect_close(spelled, expected, 1e-12, text(t));
      EXPECT_LE(spelled, found * (1 + 1e-14)) << text(t);
    }
  });
}

TEST(SquaredSensitivity, FenwickPathsHaveTheCountedLengths) {
  for (std::uint64_t leaves = 1; leaves <= 4096; ++leaves) {
    std::uint64_t first = 0, others = 0;
    for (std::uint64_t leaf = 1; leaf <= leaves; ++leaf) {
      std::uint64_t nodes = 0;
      for (std::uint64_t b = leaf; b <= leaves; b += b & -b) ++nodes;
      (leaf == 1 ? first : others) = std::max(leaf == 1 ? first : others, nodes);
      if (std::has_single_bit(leaves)) {
        EXPECT_EQ(nodes + static_cast<std::uint64_t>(std::popcount(leaf - 1)), std::bit_width(leaves));
      }
    }
    Tree t = tree(Strategy::fenwick, leaves);
    EXPECT_EQ(squared_sensitivity(t), static_cast<double>(first)) << leaves;
    t.first_leaf = 0x1p-10;
    EXPECT_EQ(squared_sensitivity(t), leaves == 1 ? 0x1p-20 * (1 + 0x1p-50) : static_cast<double>(others))
        << leaves;
  }
  EXPECT_EQ(squared_sensitivity(tree(Strategy::fenwick, 1ULL << 40)), 41);
  EXPECT_EQ(squared_sensitivity(tree(Strategy::full, (1ULL << 40) - 1)), 40);
}

// Leaf i moves the prefixes t >= i by one vector h_i. Their noise is B xi with the decoder B of the tree, so the
// loss is that of h_i' (B B')^{-1} h_i = |B^{-1} h_i|^2, whatever the accountant thinks of nodes.
TEST(SquaredSensitivity, IsTheLeverageOfALeafInThePrefixes) {
  constexpr std::uint64_t T = 8;
  const double expected[T] = {4, 3, 3, 2, 3, 2, 2, 1};
  for (std::uint64_t leaf = 1; leaf <= T; ++leaf) {
    double y[T + 1] = {}, squared = 0;  // forward substitution: row t of B has ones at t, t - lowbit(t), ...
    for (std::uint64_t t = 1; t <= T; ++t) {
      y[t] = t >= leaf ? 1 : 0;
      for (std::uint64_t b = t & (t - 1); b > 0; b &= b - 1) y[t] -= y[b];
      squared += y[t] * y[t];
    }
    EXPECT_NEAR(squared, expected[leaf - 1], 1e-9) << leaf;
  }
  EXPECT_EQ(squared_sensitivity(tree(Strategy::fenwick, T)), 4);
}

TEST(SquaredSensitivity, SquareRootToeplitzVectors) {
  expect_close(squared_sensitivity(tree(Strategy::sqrt_toeplitz, 1024)), 3.2725541503, 2e-11, "k_1024");
  expect_close(squared_sensitivity(tree(Strategy::sqrt_toeplitz, 1023)), 3.2722430729, 2e-11, "k_1023");
  expect_close(squared_sensitivity(tree(Strategy::banded, 4096, 1024)), 3.2725541503, 2e-11, "banded");
}

// k_n = (log(n - 1/4) + gamma + 4 log 2) / pi + O(n^-2), from above, by less than 0.02 / n^2.
TEST(SqrtToeplitzNorm, IsAnUpperBoundWithinItsAccuracyOnBothSidesOfTheLastSummedTerm) {
  for (const std::uint64_t n :
       {(1ULL << 18) - 1, 1ULL << 18, (1ULL << 18) + 1, 1ULL << 19, 3ULL << 25, 1ULL << 40, (1ULL << 40) - 12345}) {
    const long double asymptotic = (std::log(static_cast<long double>(n) - 0.25L) +
                                    std::numbers::egamma_v<long double> + 4 * std::numbers::ln2_v<long double>) /
                                   std::numbers::pi_v<long double>;
    const auto excess = static_cast<double>(sqrt_toeplitz_norm(n) / asymptotic - 1);
    EXPECT_GE(excess, 0) << n;
    EXPECT_LE(excess, 4e-13) << n;
  }
}

TEST(SqrtToeplitzNorm, GrowsFromTheLastSummedTermOnByTheSquaredCoefficients) {
  const std::uint64_t first = (1ULL << 18) - 100, last = (1ULL << 18) + 100;
  for (std::uint64_t n = first; n < last; ++n) {
    const auto step = static_cast<double>(sqrt_toeplitz_norm(n + 1) - sqrt_toeplitz_norm(n));
    expect_close(step, 1 / (std::numbers::pi * (static_cast<double>(n) + 0.25)), 1e-6, fmt::format("n={}", n));
  }
}

TEST(SquaredSensitivity, OfAWrittenMatrixIsRoundedUpAndNeverUnderflows) {
  Tree t = tree(Strategy::explicit_matrix, 2);
  t.matrix = {0.6, 0.8, 0.3};
  EXPECT_GE(squared_sensitivity(t), 1);
  expect_close(squared_sensitivity(t), 1, 1e-14, "0.6^2 + 0.8^2");
  t.matrix = {3, -4, 2};
  EXPECT_EQ(squared_sensitivity(t), 25);
  EXPECT_EQ(tree_mu(t), std::nextafter(5.0, 6.0));
  t.matrix = {1e-200, 0, 0};
  EXPECT_GT(squared_sensitivity(t), 0);
  EXPECT_GE(tree_mu(t), 1e-200);
  t.matrix = {1e200, 0, 0};
  EXPECT_EQ(squared_sensitivity(t), std::numeric_limits<double>::infinity());
  t.matrix = {0, 0, 0};
  EXPECT_EQ(squared_sensitivity(t), 0);
  t.matrix = {1, 1};
  EXPECT_THROW(squared_sensitivity(t), PrivacyError);
}

// Zeroth-order training on two-point differences: leaf 1 has the sensitivity 2 C_1/B_1 with C_1 = d L, the others
// 2 C_d/B_2 with C_d = 2 d L/T; for Haar frames both are smaller by sqrt(d).
TEST(TreeMu, CalibratesTheNoiseOfTheTable) {
  struct Expected {
    double d, lipschitz;
    std::uint64_t leaves;
    double first_batch, batch, rho, iid, haar, honaker, toeplitz;
  };
  const Expected rows[] = {
      {32, 1, 1024, 1025, 1, 1, 0.395284708, 0.0698771243, 0.0732877462, 0.039972177},
      {16, 1, 512, 2048, 8, 0.5, 0.0988211769, 0.0247052942, 0.0247052942, 0.0136480615},
      {100, 2, 64, 65, 1, 1, 30.6186218, 3.06186218, 3.30718914, 1.92995125},
      {10, 1, 4, 2, 1, 1, 17.3205081, 5.47722558, 5.47722558, 3.85782484},
      {10, 1, 1000, 500, 1, 0.25, 0.505964426, 0.16, 0.16, 0.0914243287},
      {1000, 1, 4096, 34000, 16, 0.26805112, 0.791234342, 0.0250210268, 0.0259617588, 0.0138762474}};
  for (const Expected& row : rows) {
    const double first = 2 * row.d * row.lipschitz / row.first_batch;
    const double others = 4 * row.d * row.lipschitz / static_cast<double>(row.leaves) / row.batch;
    const auto sigma = [&](Strategy strategy) {  // tree_mu falls as 1 / noise_multiplier; the target is mu = rho
      Tree t = tree(strategy, row.leaves);
      t.first_leaf = first / others;
      return others * tree_mu(t) / row.rho;
    };
    // The table has nine digits.
    const std::string what = fmt::format("d={} leaves={}", row.d, row.leaves);
    expect_close(sigma(Strategy::fenwick), row.iid, 5e-9, what);
    expect_close(sigma(Strategy::fenwick) / std::sqrt(row.d), row.haar, 5e-9, what);
    // The table calibrates all of Honaker's leaves for the larger sensitivity.
    const double levels = std::floor(std::log2(row.leaves)) + 1, larger = std::max(first, others);
    expect_close(sigma(Strategy::full_honaker), larger * std::sqrt(levels) / row.rho, 1e-14, what);
    expect_close(sigma(Strategy::full_honaker) / std::sqrt(row.d), row.honaker, 5e-9, what);
    expect_close(sigma(Strategy::sqrt_toeplitz) / std::sqrt(row.d), row.toeplitz, 5e-9, what);
  }
}

// The published calibration, node variance 2 log(T) for a target of mu = 1, counts no more than 2 log(T) nodes a
// leaf.
TEST(TreeMu, ShowsThatThePublishedCalibrationUnderNoisesShortTrees) {
  const auto spent = [](std::uint64_t leaves, double first_leaf) {
    Tree t = tree(Strategy::fenwick, leaves);
    t.noise_multiplier = std::sqrt(2 * std::log(static_cast<double>(leaves)));
    t.first_leaf = first_leaf;
    return tree_mu(t) * tree_mu(t);
  };
  expect_close(spent(2, 1), 1.442695, 1e-6, "T=2");
  expect_close(spent(4, 1), 1.082021, 1e-6, "T=4");
  expect_close(spent(8, 1), 0.961797, 1e-6, "T=8");
  expect_close(spent(64, 1), 0.841572, 1e-6, "T=64");
  expect_close(spent(1024, 1), 0.793482, 1e-6, "T=1024");
  for (std::uint64_t leaves = 2; leaves <= 4096; leaves *= 2)
    expect_close(spent(leaves, static_cast<double>(leaves) / 2 / static_cast<double>(leaves + 1)), 0.721348, 1e-6,
                 "B1 = T + 1");
}

TEST(PrefixNoiseVariance, AddsUpTheNodesOfThePrefix) {
  for_each_small_tree([](const Tree& t) {
    if (t.strategy != Strategy::fenwick && t.strategy != Strategy::full) return;
    for (std::uint64_t leaf = 1; leaf <= t.leaves; ++leaf)
      EXPECT_EQ(prefix_noise_variance(t, leaf), std::popcount(leaf)) << text(t);
  });
}

// 1' (S' S)^-1 1 for a matrix of full column rank, by elimination.
double least_squares_variance(const Matrix& s) {
  const std::size_t n = s[0].size();
  Matrix a(n, Row(n));
  Row b(n, 1.0);
  for (const Row& row : s)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) a[i][j] += row[i] * row[j];
  double variance = 0;
  for (std::size_t k = 0; k < n; ++k) {
    variance += b[k] * b[k] / a[k][k];
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  return variance;
}

// The smallest variance of a linear unbiased estimate from the nodes so far.
TEST(PrefixNoiseVariance, OfHonakersEstimateIsTheSmallestPossible) {
  const Tree t = tree(Strategy::full_honaker, 70);
  for (std::uint64_t leaf = 1; leaf <= t.leaves; ++leaf) {
    const double best = least_squares_variance(matrix(tree(Strategy::full_honaker, leaf)));
    expect_close(prefix_noise_variance(t, leaf), best, 1e-12, text(t));
  }
}

TEST(PrefixNoiseVariance, OfToeplitzMatricesIsThatOfTheWrittenMatrix) {
  for_each_small_tree([](const Tree& t) {
    if (t.strategy != Strategy::sqrt_toeplitz && !is_banded(t.strategy)) return;
    const Tree written = written_out(t);
    for (std::uint64_t leaf = 1; leaf <= t.leaves; ++leaf)
      expect_close(prefix_noise_variance(t, leaf), prefix_noise_variance(written, leaf), 1e-11, text(t));
  });
}

TEST(PrefixNoiseVariance, OfABandedMatrixIsExactWhereItsWeightsAreTakenFromTheirLimit) {
  for (const std::uint64_t band : {2U, 7U, 40U}) {
    const Tree t = tree(Strategy::banded, 1500, band), written = written_out(t);
    for (const std::uint64_t leaf : {24 * band - 1, 24 * band + 1, t.leaves})
      expect_close(prefix_noise_variance(t, leaf), prefix_noise_variance(written, leaf), 1e-11, text(t));
  }
}

TEST(PrefixNoiseVariance, OfALongNarrowBandGrowsLinearly) {
  const Tree t = tree(Strategy::banded, 1ULL << 40, 3);  // c(1) = 1 + 1/2 + 3/8
  const double slope = prefix_noise_variance(t, 1ULL << 40) - prefix_noise_variance(t, (1ULL << 40) - 1000);
  expect_close(slope / 1000, 1 / (1.875 * 1.875), 1e-6, "slope");
}

TEST(PrefixNoiseVariance, OfAMatrixWithoutInverseIsInfinite) {
  Tree t = tree(Strategy::explicit_matrix, 2);
  t.matrix = {1, 1, 0};
  EXPECT_EQ(prefix_noise_variance(t, 1), 1);
  EXPECT_EQ(prefix_noise_variance(t, 2), std::numeric_limits<double>::infinity());
  EXPECT_THROW(prefix_noise_variance(t, 3), BugError);
  EXPECT_THROW(prefix_noise_variance(t, 0), BugError);
}

TEST(MeanPrefixNoiseVariance, IsTheMean) {
  const auto check = [](const Tree& t) {
    double sum = 0;
    for (std::uint64_t leaf = 1; leaf <= t.leaves; ++leaf) sum += prefix_noise_variance(t, leaf);
    expect_close(mean_prefix_noise_variance(t), sum / static_cast<double>(t.leaves), 1e-11, text(t));
  };
  for_each_small_tree(check);
  check(tree(Strategy::banded, 1500, 5));
  check(written_out(tree(Strategy::banded, 20, 5)));
}

// Mean variance at equal privacy, in units of (s / mu)^2; Fenwick trees with a less sensitive leaf 1.
TEST(MeanPrefixNoiseVariance, VectorsOfTheStrategies) {
  struct Expected {
    std::uint64_t leaves;
    double fenwick, honaker, banded_64, toeplitz;
  };
  const Expected rows[] = {{16, 8.250000, 7.089862, 0, 3.228542},
                           {64, 18.093750, 13.339348, 4.971457, 4.971457},
                           {256, 32.031250, 21.623876, 7.837125, 7.122399},
                           {1000, 44.442000, 28.700967, 0, 9.623887},
                           {1024, 50.009766, 31.921099, 19.153709, 9.670793},
                           {4096, 72.002930, 44.222553, 64.362511, 12.611680}};
  const auto at_equal_privacy = [](Tree t) {
    if (t.strategy == Strategy::fenwick) t.first_leaf = 0.5;
    return mean_prefix_noise_variance(t) * squared_sensitivity(t);
  };
  for (const Expected& row : rows) {
    EXPECT_NEAR(at_equal_privacy(tree(Strategy::fenwick, row.leaves)), row.fenwick, 6e-7);
    EXPECT_NEAR(at_equal_privacy(tree(Strategy::full_honaker, row.leaves)), row.honaker, 6e-7);
    EXPECT_NEAR(at_equal_privacy(tree(Strategy::sqrt_toeplitz, row.leaves)), row.toeplitz, 6e-7);
    if (row.banded_64 > 0) {
      EXPECT_NEAR(at_equal_privacy(tree(Strategy::banded, row.leaves, 64)), row.banded_64, 6e-7);
    }
  }
}

}  // namespace
}  // namespace dpmpi::strategy_test
