#include "privacy/curator/prefix_noise.hpp"

#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "privacy/curves/strategy.hpp"

namespace dpmpi::prefix_noise_test {
namespace {

Tree tree(Strategy strategy, std::uint64_t leaves, std::uint64_t band = 0) { return {strategy, leaves, 1, band}; }

Tree with_buffers(std::uint64_t leaves, const std::vector<std::pair<double, double>>& decays_and_weights) {
  Tree of = tree(Strategy::blt, leaves);
  for (const auto& [decay, weight] : decays_and_weights) {
    of.buffers.decay[of.buffers.count] = decay;
    of.buffers.weight[of.buffers.count++] = weight;
  }
  return of;
}

// z_1..z_T for given draws xi(level, t), one coordinate.
std::vector<double> prefixes(const Tree& of, const std::function<double(std::uint32_t, std::uint64_t)>& xi,
                             const std::vector<double>& scale = {}) {
  PrefixNoise noise(of, 1);
  std::vector<double> z;
  for (std::uint64_t t = 1; t <= of.leaves; ++t)
    z.push_back(noise.next(scale.empty() ? 1 : scale[t - 1],
                           [&](std::uint32_t level, std::span<double> out) { out[0] = xi(level, t); })[0]);
  return z;
}

double end_of_node(std::uint32_t, std::uint64_t t) { return static_cast<double>(t); }
double one(std::uint32_t, std::uint64_t) { return 1; }

// Draws that are the right ends of their nodes: the published sums over the binary expansion.
TEST(PrefixNoise, FenwickAddsStoredNodes) {
  EXPECT_EQ(prefixes(tree(Strategy::fenwick, 16), end_of_node),
            (std::vector<double>{1, 2, 5, 4, 9, 10, 17, 8, 17, 18, 29, 20, 33, 34, 49, 16}));
}

// The nodes of the prefix t: popcount(t) of them, t leaves together, and one left end for every right end.
TEST(PrefixNoise, FenwickNodesArePrefixesInBinary) {
  const Tree of = tree(Strategy::fenwick, 4096);
  const auto count = prefixes(of, one);
  const auto leaves = prefixes(of, [](std::uint32_t level, std::uint64_t t) {
    EXPECT_EQ(std::uint64_t{1} << level, t & (~t + 1)) << "node t holds the leaves (t - lowbit(t), t]";
    return std::ldexp(1.0, static_cast<int>(level));
  });
  for (std::uint64_t t = 1; t <= 4096; ++t) {
    EXPECT_EQ(count[t - 1], std::popcount(t)) << t;
    EXPECT_EQ(leaves[t - 1], static_cast<double>(t)) << t;
  }
}

// Trap: fresh noise per query in place of stored nodes, which averaging removes.
TEST(PrefixNoise, ANodeIsDrawnOnce) {
  const auto z = prefixes(tree(Strategy::fenwick, 7),
                          [](std::uint32_t, std::uint64_t t) { return std::exp2(static_cast<double>(t)); });
  EXPECT_EQ(z[6] - z[5], 128);  // xi_7
  EXPECT_EQ(z[5] - z[3], 64);   // xi_6
  for (const auto strategy : {Strategy::fenwick, Strategy::full, Strategy::full_honaker}) {
    std::map<std::pair<std::uint32_t, std::uint64_t>, int> drawn;
    prefixes(tree(strategy, 64), [&](std::uint32_t level, std::uint64_t t) { return ++drawn[{level, t}]; });
    EXPECT_EQ(drawn.size(), strategy == Strategy::fenwick ? 64u : 127u);
    for (const auto& [node, times] : drawn) EXPECT_EQ(times, 1);
  }
}

TEST(PrefixNoise, HonakersEstimate) {
  const auto z = prefixes(tree(Strategy::full_honaker, 8), [](std::uint32_t level, std::uint64_t t) {
    return 10.0 * level + static_cast<double>((t >> level) - 1) + 1;
  });
  const double expected[] = {1, 8.333333333, 11.333333333, 20, 25, 32.333333333, 39.333333333, 37.066666667};
  for (std::size_t t = 0; t < 8; ++t) EXPECT_NEAR(z[t], expected[t], 1e-8) << t + 1;
}

TEST(PrefixNoise, SquareRootOfThePrefixSum) {
  const auto z = prefixes(tree(Strategy::sqrt_toeplitz, 8), one);
  const double expected[] = {1, 1.5, 1.875, 2.1875, 2.4609375, 2.70703125, 2.93261719, 3.14208984};
  for (std::size_t t = 0; t < 8; ++t) EXPECT_NEAR(z[t], expected[t], 1e-8);
}

// A band as wide as the matrix inverts C where the square root multiplies by it: the same prefixes, because C C =
// L.
TEST(PrefixNoise, FullBandIsTheSquareRoot) {
  const PublicStream stream(1, "prefix noise test");
  const auto xi = [&](std::uint32_t, std::uint64_t t) { return stream.uniform(t) - 0.5; };
  const auto root = prefixes(tree(Strategy::sqrt_toeplitz, 100), xi);
  const auto band = prefixes(tree(Strategy::banded, 100, 100), xi);
  for (std::size_t t = 0; t < 100; ++t) EXPECT_NEAR(root[t], band[t], 1e-12);
}

// The strategy times the noise of the leaves gives the draws back; without buffers the noise is the draws, and with
// one buffer the draws less a share of those before.
TEST(PrefixNoise, BuffersInvertTheirMatrix) {
  const PublicStream stream(2, "prefix noise test");
  const auto xi = [&](std::uint32_t, std::uint64_t t) { return stream.uniform(t) - 0.5; };
  constexpr std::uint64_t n = 200;
  const Tree of = with_buffers(n, {{0.99, 0.1}, {0.7, 0.2}, {0.2, 0.3}});
  const auto z = prefixes(of, xi), walk = prefixes(with_buffers(n, {}), xi),
             less = prefixes(with_buffers(n, {{0.75, 0.75}}), xi);
  double sum = 0;
  for (std::uint64_t t = 1; t <= n; ++t) {
    double row = 0;
    for (std::uint64_t s = 1; s <= t; ++s) {
      double c = s == t ? 1 : 0;
      for (std::size_t i = 0; i < of.buffers.count && s < t; ++i)
        c += of.buffers.weight[i] * std::pow(of.buffers.decay[i], static_cast<double>(t - s - 1));
      row += c * (z[s - 1] - (s > 1 ? z[s - 2] : 0));
    }
    EXPECT_NEAR(row, xi(0, t), 1e-13) << t;
    sum += xi(0, t);
    EXPECT_NEAR(walk[t - 1], sum, 1e-13) << t;
    EXPECT_NEAR(less[t - 1] - (t > 1 ? less[t - 2] : 0), xi(0, t) - (t > 1 ? 0.75 * xi(0, t - 1) : 0), 1e-13) << t;
  }
}

TEST(PrefixNoise, BuffersKeepARowEach) {
  EXPECT_EQ(rows_kept(with_buffers(1 << 20, {{0.9, 0.1}, {0.5, 0.1}})), 2u);
  EXPECT_EQ(rows_kept(with_buffers(1 << 20, {})), 0u);
  EXPECT_TRUE(noise_can_be_kept(with_buffers(1 << 20, {{0.9, 0.1}}), 500'000'000));
  EXPECT_FALSE(noise_can_be_kept(with_buffers(1 << 20, {{0.9, 0.1}}), 500'000'001));
}

// The squared weights of the draws are the variance that planning uses.
TEST(PrefixNoise, VarianceIsThatOfThePlan) {
  const std::uint64_t leaves = 37;
  for (const Tree& of :
       {tree(Strategy::fenwick, leaves), tree(Strategy::full, leaves), tree(Strategy::full_honaker, leaves),
        tree(Strategy::sqrt_toeplitz, leaves), tree(Strategy::banded, leaves, 5), with_buffers(leaves, {}),
        with_buffers(leaves, {{0.9, 0.9}}), with_buffers(leaves, {{0.98, 0.1}, {0.8, 0.2}, {0.3, 0.3}})}) {
    std::vector<double> variance(leaves, 0.0);
    for (std::uint32_t level = 0; level < 6; ++level)
      for (std::uint64_t end = 1; end <= leaves; ++end) {
        const auto weight =
            prefixes(of, [&](std::uint32_t l, std::uint64_t t) { return l == level && t == end ? 1.0 : 0.0; });
        for (std::size_t t = 0; t < leaves; ++t)
          if (of.strategy != Strategy::fenwick || level == static_cast<std::uint32_t>(std::countr_zero(end)))
            variance[t] += weight[t] * weight[t];
        if ((of.strategy == Strategy::sqrt_toeplitz || of.strategy == Strategy::banded ||
             of.strategy == Strategy::blt) &&
            level > 0)
          for (std::size_t t = 0; t < leaves; ++t) {
            EXPECT_EQ(weight[t], 0);
          }
      }
    for (std::uint64_t t = 1; t <= leaves; ++t)
      EXPECT_NEAR(variance[t - 1], prefix_noise_variance(of, t), 1e-10) << name(of.strategy) << " " << t;
  }
}

// With leaf scales s_i every node that contains leaf i has a scale of at least s_i: the noise of a leaf's path is
// never below what a constant scale of s_i would give it.
TEST(PrefixNoise, NodesTakeTheLargestScaleOfTheirLeaves) {
  const std::vector<double> scale{0.5, 0.25, 1, 0.125, 0.25, 0.5, 0.125, 0.0625};
  const auto z = prefixes(tree(Strategy::fenwick, 8), one, scale);
  EXPECT_EQ(z, (std::vector<double>{0.5, 0.5, 1.5, 1, 1.25, 1.5, 1.625, 1}));
  const auto largest = prefixes(tree(Strategy::sqrt_toeplitz, 3), one, {0.25, 1, 0.5});
  EXPECT_DOUBLE_EQ(largest[2], 1 + 0.5 + 0.375 * 0.25);
}

TEST(PrefixNoise, RestartForgets) {
  PrefixNoise noise(tree(Strategy::fenwick, 4), 2);
  const auto draw = [&](std::uint32_t, std::span<double> out) { out[0] = out[1] = 1; };
  std::vector<double> first, second;
  for (int t = 0; t < 4; ++t) first.push_back(noise.next(1, draw)[1]);
  EXPECT_THROW(noise.next(1, draw), BugError);
  noise.restart();
  for (int t = 0; t < 4; ++t) second.push_back(noise.next(1, draw)[1]);
  EXPECT_EQ(first, second);
}

TEST(PrefixNoise, RefusesWhatItCannotKeep) {
  EXPECT_THROW(PrefixNoise(tree(Strategy::sqrt_toeplitz, 1000000), 10000), ConfigError);
  EXPECT_THROW(PrefixNoise(Tree{Strategy::explicit_matrix, 1, 1, 0, 1, {1}}, 1), ConfigError);
}

// Monte Carlo, T = 16: Var z_t = popcount(t), and the covariances of shared nodes.
TEST(PrefixNoise, CovarianceOfTheTree) {
  constexpr std::size_t runs = 200000;
  const Tree of = tree(Strategy::fenwick, 16);
  PrefixNoise noise(of, runs);
  const PublicStream stream(7, "prefix noise");
  std::vector<std::vector<double>> z;
  for (std::uint64_t t = 1; t <= 16; ++t) {
    const auto row = noise.next(1, [&](std::uint32_t, std::span<double> out) { stream.normals(t * runs, out); });
    z.emplace_back(row.begin(), row.end());
  }
  const auto covariance = [&](std::size_t s, std::size_t t) {
    double sum = 0;
    for (std::size_t i = 0; i < runs; ++i) sum += z[s - 1][i] * z[t - 1][i];
    return sum / runs;
  };
  for (std::size_t t = 1; t <= 16; ++t) {
    const double expected = std::popcount(t);
    EXPECT_NEAR(covariance(t, t), expected, 5 * expected * std::sqrt(2.0 / runs)) << t;
  }
  const struct {
    std::size_t s, t;
    double shared;
  } pairs[] = {{6, 7, 2}, {4, 6, 1}, {12, 14, 2}, {13, 15, 2}, {7, 8, 0}, {3, 4, 0}};
  for (const auto& [s, t, shared] : pairs)
    EXPECT_NEAR(covariance(s, t), shared, 5 * std::sqrt((shared * shared + 9) / runs)) << s << " " << t;
}

}  // namespace
}  // namespace dpmpi::prefix_noise_test
