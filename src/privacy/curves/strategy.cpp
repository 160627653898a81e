#include "privacy/curves/strategy.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/buffered_toeplitz.hpp"
#include "privacy/curves/normalized_buffers.hpp"
#include "privacy/curves/round_up.hpp"
#include "privacy/curves/sqrt_toeplitz.hpp"

namespace dpmpi {

namespace {

// Squared column norms of the matrix: of leaf 1, and the largest of the other leaves (0 if there are none).
struct Columns {
  Real first, others;
};

// Leaf i is a part of the nodes b = i, i + lowbit(i), ... up to T. Each step moves the lowest set bit up, at least
// by one place; from 1 through every place, from i >= 2 through at least one place less.
Columns fenwick_columns(std::uint64_t leaves) {
  const auto levels = static_cast<Real>(std::bit_width(leaves));
  return {levels, levels - 1};
}

// Complete nodes that end at or before T: leaves 1 and 2 are part of one on every level up to floor(log2 T).
Columns full_columns(std::uint64_t leaves) {
  const auto nodes = static_cast<Real>(std::bit_width(leaves));
  return {nodes, leaves > 1 ? nodes : 0};
}

// Column i of the Toeplitz matrix holds the first min(band, T - i + 1) coefficients.
Columns toeplitz_columns(std::uint64_t leaves, std::uint64_t band) {
  const std::uint64_t first = std::min(band, leaves), second = std::min(band, leaves - 1);
  return {sqrt_toeplitz_norm(first), sqrt_toeplitz_norm(second)};
}

Columns buffered_columns(const Tree& tree, std::uint64_t band) {
  const auto norm = [&](std::uint64_t n) { return n > 0 ? buffered_norm(tree.buffers, n, 1, n) : 0; };
  return {norm(std::min(band, tree.leaves)), norm(std::min(band, tree.leaves - 1))};
}

// Above 2048 roundings of long double.
Real a_little_more(Real x) { return x * (1 + 0x1p-50L); }

Columns explicit_columns(const Tree& tree) {
  std::vector<Real> squares(tree.leaves, 0);
  auto entry = tree.matrix.begin();
  for (std::size_t row = 0; row < tree.leaves; ++row)
    for (std::size_t column = 0; column <= row; ++column, ++entry)
      squares[column] += static_cast<Real>(*entry) * static_cast<Real>(*entry);
  const bool whole = std::all_of(tree.matrix.begin(), tree.matrix.end(),
                                 [](double x) { return x == std::floor(x) && std::abs(x) < 0x1p21; });
  if (!whole) std::transform(squares.begin(), squares.end(), squares.begin(), a_little_more);
  return {squares[0], tree.leaves > 1 ? *std::max_element(squares.begin() + 1, squares.end()) : 0};
}

Columns columns(const Tree& tree) {
  switch (tree.strategy) {
    case Strategy::fenwick:
      return fenwick_columns(tree.leaves);
    case Strategy::full:
    case Strategy::full_honaker:
      return full_columns(tree.leaves);
    case Strategy::sqrt_toeplitz:
      return toeplitz_columns(tree.leaves, tree.leaves);
    case Strategy::banded:
      return toeplitz_columns(tree.leaves, tree.band);
    case Strategy::explicit_matrix:
      return explicit_columns(tree);
    case Strategy::blt:
      return buffered_columns(tree, tree.leaves);
    case Strategy::banded_blt:
      return buffered_columns(tree, tree.band);
    case Strategy::normalized_blt:
      return {1, 1};
  }
  throw BugError("unknown strategy");
}

// |sum_i C e_i|^2 over leaves 1, 1 + b, 1 + 2b, ...: Toeplitz matrices whose coefficients are not negative and
// never rise cost most there (Kalinin and Lampert 2024, Theorem 2; docs/theory/buffered_noise.md).
Real several_columns(const Tree& tree) {
  const std::uint64_t T = tree.leaves, k = tree.participations, b = tree.separation;
  if (tree.strategy == Strategy::blt) return buffered_norm(tree.buffers, T, k, b);
  return sqrt_toeplitz_norm(T, tree.strategy == Strategy::banded ? tree.band : T, k, b);
}

// Calibration asks for one matrix under many noise multipliers, and its columns may take seconds: the last are
// kept.
Real several_columns_once(const Tree& tree) {
  thread_local std::optional<std::pair<Tree, Real>> last;
  Tree matrix = tree;
  matrix.noise_multiplier = 1;
  if (!last || last->first != matrix) last.emplace(matrix, several_columns(matrix));
  return last->second;
}

Real squared(const Tree& tree) {
  check({tree, 1}, "event");
  if (tree.participations > 1) return several_columns_once(tree);
  const Columns norms = columns(tree);
  const Real r = tree.first_leaf;
  return std::max(r == 1 ? norms.first : a_little_more(r * r * norms.first), norms.others);
}

}  // namespace

double squared_sensitivity(const Tree& tree) { return round_up(squared(tree)); }

double tree_mu(const Tree& tree) {
  return round_up(std::sqrt(squared(tree)) / tree.noise_multiplier * (1 + 0x1p-60L));
}

std::vector<double> banded_coefficients(const Tree& tree) {
  verify(is_banded(tree.strategy) && tree.band >= 1, "a band");
  std::vector<double> c{1};
  std::array<double, Buffers::most> share = tree.buffers.weight;  // weight_i decay_i^(j-1)
  for (std::uint64_t j = 1; j < tree.band; ++j) {
    if (tree.strategy == Strategy::banded) {
      c.push_back(c.back() * (real(j) - 0.5) / real(j));
      continue;
    }
    double sum = 0;
    for (std::size_t i = 0; i < tree.buffers.count; ++i) sum += share[i], share[i] *= tree.buffers.decay[i];
    c.push_back(sum);
  }
  return c;
}

namespace {

void check_leaf(const Tree& tree, std::uint64_t t) {
  check({tree, 1}, "event");
  verify(t >= 1 && t <= tree.leaves, "a leaf of the tree");
}

// Honaker's (2015) variance of a complete node on `level`, from its own noise and from its children's estimates:
// v_0 = 1, 1/v_l = 1 + 1/(2 v_{l-1}), that is 1/v_l = 2 - 2^-l.
double honaker_variance(int level) { return 1 / (2 - std::ldexp(1.0, -level)); }

// Nodes whose sum is the prefix t are those of the set bits of t, one on each level.
double node_variance(Strategy strategy, int level) {
  return strategy == Strategy::full_honaker ? honaker_variance(level) : 1.0;
}

// How many of 1..n have bit `level` set.
std::uint64_t bits_set(std::uint64_t n, int level) {
  const std::uint64_t half = 1ULL << level, end = n + 1, rest = end & (2 * half - 1);
  return (end >> (level + 1)) * half + (rest > half ? rest - half : 0);
}

// g_0, ..., g_{t-1}: the coefficients of 1 / ((1 - x) c(x)) with c(x) = sum_{j < band} c_j x^j. The noise of prefix
// t is sum_{j < t} g_j xi_{t-j}. They approach 1 / c(1), because the roots of c lie outside the unit circle (its
// coefficients fall). Those of the square root do so fast: with each further band the distance falls to about a
// quarter (measured up to band 4096), so after 24 bands it is below rounding. Those of buffers are all computed.
struct BandedWeights {
  std::vector<double> g;
  double limit;

  BandedWeights(const Tree& tree, std::uint64_t t) {
    const std::vector<double> c = banded_coefficients(tree);
    const std::uint64_t band = c.size(), computed = std::min(t, 24 * band);
    limit = 1 / std::accumulate(c.begin(), c.end(), 0.0);
    if (tree.strategy == Strategy::banded_blt) {
      g = banded_prefix_weights(tree.buffers, band, t);
      return;
    }
    g.reserve(computed);
    while (g.size() < computed) {
      double next = 1;
      for (std::size_t i = 1; i < std::min<std::uint64_t>(band, g.size() + 1); ++i) next -= c[i] * g[g.size() - i];
      g.push_back(next);
    }
  }
};

double banded_variance(const Tree& tree, std::uint64_t t) {
  if (tree.strategy == Strategy::banded && t <= tree.band) return static_cast<double>(sqrt_toeplitz_norm(t));
  const BandedWeights weights(tree, t);
  double sum = 0;
  for (const double g : weights.g) sum += g * g;
  return sum + static_cast<double>(t - weights.g.size()) * weights.limit * weights.limit;
}

double mean_banded_variance(const Tree& tree) {
  const std::uint64_t leaves = tree.leaves;
  const BandedWeights weights(tree, leaves);
  const auto T = static_cast<double>(leaves), rest = T - static_cast<double>(weights.g.size());
  double sum = rest * (rest + 1) / 2 * weights.limit * weights.limit;
  for (std::size_t j = 0; j < weights.g.size(); ++j)
    sum += (T - static_cast<double>(j)) * weights.g[j] * weights.g[j];
  return sum / T;
}

// |y|^2 of y with y S_t = (1, ..., 1), S_t the leading t x t block.
double explicit_variance(const Tree& tree, std::uint64_t t) {
  std::vector<double> rest(t, 1.0);
  double sum = 0;
  for (std::size_t row = t; row-- > 0;) {
    const double* entries = tree.matrix.data() + row * (row + 1) / 2;
    if (entries[row] == 0) return infinity;
    const double y = rest[row] / entries[row];
    for (std::size_t column = 0; column < row; ++column) rest[column] -= y * entries[column];
    sum += y * y;
  }
  return sum;
}

}  // namespace

double prefix_noise_variance(const Tree& tree, std::uint64_t t) {
  check_leaf(tree, t);
  if (tree.strategy == Strategy::explicit_matrix) return explicit_variance(tree, t);
  if (is_banded(tree.strategy)) return banded_variance(tree, t);
  if (tree.strategy == Strategy::blt) return PrefixWeights(tree.buffers).variance(t);
  if (tree.strategy == Strategy::normalized_blt) return NormalizedVariance(tree.buffers, tree.leaves, t).last;
  if (tree.strategy == Strategy::sqrt_toeplitz) return static_cast<double>(sqrt_toeplitz_norm(t));
  double sum = 0;
  for (int level = 0; t >> level != 0; ++level)
    if (t >> level & 1) sum += node_variance(tree.strategy, level);
  return sum;
}

double mean_prefix_noise_variance(const Tree& tree) {
  const std::uint64_t leaves = tree.leaves;
  check_leaf(tree, leaves);
  if (tree.strategy == Strategy::sqrt_toeplitz || (tree.strategy == Strategy::banded && tree.band == leaves))
    return static_cast<double>(mean_sqrt_toeplitz_norm(leaves));
  if (is_banded(tree.strategy)) return mean_banded_variance(tree);
  if (tree.strategy == Strategy::blt) return PrefixWeights(tree.buffers).mean_variance(leaves);
  if (tree.strategy == Strategy::normalized_blt) return NormalizedVariance(tree.buffers, leaves, leaves).mean;
  double sum = 0;
  if (tree.strategy == Strategy::explicit_matrix)
    for (std::uint64_t t = 1; t <= leaves; ++t) sum += explicit_variance(tree, t);
  else
    for (int level = 0; leaves >> level != 0; ++level)
      sum += node_variance(tree.strategy, level) * static_cast<double>(bits_set(leaves, level));
  return sum / static_cast<double>(leaves);
}

}  // namespace dpmpi
