#include "privacy/curator/prefix_noise.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "privacy/curves/normalized_buffers.hpp"
#include "privacy/curves/strategy.hpp"

namespace dpmpi {

namespace {

constexpr double most_bytes = 4e9;

std::uint32_t lowest_bit(std::uint64_t t) { return static_cast<std::uint32_t>(std::countr_zero(t)); }

void add(double factor, std::span<const double> x, std::span<double> sum) {
  for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += factor * x[j];
}

// Buffer i, a row of `kept`, holds s_i = sum_{j > 0} decay_i^(j-1) zeta_{t-j}, so zeta_t = xi_t - sum_i weight_i
// s_i. The prefix gets zeta_t times the norm of its column. Memory is what this waits for: every row passes by
// once.
template <std::size_t count>
void pass_buffers(Buffers buffers, double scale, double norm, std::span<const double> xi, double* kept,
                  double* prefix) {
  const std::size_t dim = xi.size();
  const double* const drawn = xi.data();
  std::array<double*, count> held;
  for (std::size_t i = 0; i < count; ++i) held[i] = kept + i * dim;
#ifndef __clang__  // which finds out by itself,
#pragma GCC ivdep  // that no row is another
#endif
  for (std::size_t j = 0; j < dim; ++j) {
    double zeta = drawn[j] * scale;
    for (std::size_t i = 0; i < count; ++i) zeta += -buffers.weight[i] * held[i][j];
    for (std::size_t i = 0; i < count; ++i) held[i][j] = buffers.decay[i] * held[i][j] + zeta;
    prefix[j] += norm * zeta;
  }
}

// One for each number of buffers.
template <std::size_t... count>
constexpr auto buffered_passes(std::index_sequence<count...>) {
  return std::array{&pass_buffers<count>...};
}

}  // namespace

std::uint64_t rows_kept(const Tree& tree) {
  switch (tree.strategy) {
    case Strategy::fenwick:
    case Strategy::full:
    case Strategy::full_honaker:
      return static_cast<std::uint64_t>(std::bit_width(tree.leaves));
    case Strategy::sqrt_toeplitz:
      return tree.leaves;
    case Strategy::banded:
    case Strategy::banded_blt:
      return tree.band;
    case Strategy::blt:
    case Strategy::normalized_blt:
      return tree.buffers.count;
    case Strategy::explicit_matrix:
      break;
  }
  throw ConfigError("noise by an explicit matrix is accounted for, but not generated");
}

bool noise_can_be_kept(const Tree& tree, std::size_t dim) {
  return 8.0 * static_cast<double>(rows_kept(tree)) * static_cast<double>(dim) <= most_bytes;
}

void check_kept_noise(const Tree& tree, std::size_t dim) {
  const double bytes = 8.0 * static_cast<double>(rows_kept(tree)) * static_cast<double>(dim);
  if (!noise_can_be_kept(tree, dim))
    throw ConfigError(
        fmt::format("strategy {} with {} leaves keeps {:.1f} GB of noise for {} coordinates, allowed: {:.0f} GB; "
                    "choose blt, fenwick, full_honaker or banded with a smaller band",
                    name(tree.strategy), tree.leaves, bytes * 1e-9, dim, most_bytes * 1e-9));
}

PrefixNoise::PrefixNoise(const Tree& tree, std::size_t dim) : tree_(tree), dim_(dim) {
  check({tree, 1}, "tree noise");
  check_kept_noise(tree, dim);
  const std::uint64_t rows = rows_kept(tree);
  kept_.resize(rows * dim);
  fresh_.resize(dim);
  prefix_.resize(dim);
  scale_.reserve(std::min<std::uint64_t>(tree.leaves, 1 << 20));
  if (tree.strategy == Strategy::normalized_blt) norms_ = column_norms(tree.buffers, tree.leaves);
  if (is_banded(tree.strategy)) coefficient_ = banded_coefficients(tree);
  if (tree.strategy == Strategy::sqrt_toeplitz)
    for (std::uint64_t k = 0; k < rows; ++k) {
      const auto x = static_cast<double>(k);
      coefficient_.push_back(k == 0 ? 1 : coefficient_.back() * (2 * x - 1) / (2 * x));
    }
}

void PrefixNoise::restart() { scale_.clear(), largest_ = 0; }

// The node of this level that ends at the present leaf holds the last 2^level leaves.
double PrefixNoise::node_scale(std::uint32_t level) const {
  return *std::max_element(scale_.end() - static_cast<std::ptrdiff_t>(1ULL << level), scale_.end());
}

std::span<const double> PrefixNoise::next(double leaf_scale, const Draw& draw) {
  verify(leaf() < tree_.leaves, "a leaf of the tree");
  verify(leaf_scale > 0 && leaf_scale <= 1, "a leaf's scale in (0, 1]");
  scale_.push_back(leaf_scale);
  largest_ = std::max(largest_, leaf_scale);
  switch (tree_.strategy) {
    case Strategy::fenwick:
      next_fenwick(draw);
      break;
    case Strategy::full:
    case Strategy::full_honaker:
      next_full(draw);
      break;
    case Strategy::sqrt_toeplitz:
      next_sqrt_toeplitz(draw);
      break;
    case Strategy::blt:
    case Strategy::normalized_blt:
      next_buffered(draw);
      break;
    default:
      next_banded(draw);
  }
  return prefix_;
}

// Node t sums the leaves (t - lowbit(t), t], so the prefix t is node t and the prefix t - lowbit(t), which was
// kept on the level of its lowest bit.
void PrefixNoise::next_fenwick(const Draw& draw) {
  const std::uint64_t t = leaf(), rest = t & (t - 1);
  const std::uint32_t level = lowest_bit(t);
  draw(level, fresh_);
  const std::span<double> kept = row(level);
  if (rest == 0)
    std::fill(kept.begin(), kept.end(), 0.0);
  else if (const std::span<double> before = row(lowest_bit(rest)); before.data() != kept.data())
    std::copy(before.begin(), before.end(), kept.begin());
  add(node_scale(level), fresh_, kept);
  std::copy(kept.begin(), kept.end(), prefix_.begin());
}

// Level l keeps the estimate of the noise of its newest complete node: the node's own draw, or, with Honaker, the
// best combination of it with the estimates of its two children, w = v_l = 1 / (2 - 2^-l) for the own draw.
void PrefixNoise::next_full(const Draw& draw) {
  const std::uint64_t t = leaf();
  const std::uint32_t top = lowest_bit(t);
  for (std::uint32_t level = 0; level <= top; ++level) {
    draw(level, fresh_);
    const bool combine = tree_.strategy == Strategy::full_honaker && level > 0;
    const double own = combine ? 1 / (2 - 1 / static_cast<double>(1ULL << level)) : 1;
    const double scale = own * node_scale(level);
    for (double& x : fresh_) x *= scale;
    if (combine) {  // the left child is kept one level down, the right one was made just now
      add(1 - own, row(level - 1), fresh_);
      add(1 - own, prefix_, fresh_);
    }
    std::swap(fresh_, prefix_);
  }
  std::copy(prefix_.begin(), prefix_.end(), row(top).begin());
  std::fill(prefix_.begin(), prefix_.end(), 0.0);
  for (std::uint32_t level = 0; t >> level != 0; ++level)
    if (t >> level & 1) add(1, row(level), prefix_);
}

// Strategy and decoder are both the square root C of the matrix of ones: z_t = sum_j c_{t-j} xi_j.
void PrefixNoise::next_sqrt_toeplitz(const Draw& draw) {
  const std::uint64_t t = leaf();
  const std::span<double> newest = row(t - 1);
  draw(0, newest);
  const double scale = largest_;
  for (double& x : newest) x *= scale;
  std::fill(prefix_.begin(), prefix_.end(), 0.0);
  for (std::uint64_t j = 0; j < t; ++j) add(coefficient_[t - 1 - j], row(j), prefix_);
}

// The strategy has `band` diagonals; its inverse turns the draws into the noise of single leaves,
// zeta_t = xi_t - sum_{0 < j < band} c_j zeta_{t-j}, whose running sum is the prefix's.
void PrefixNoise::next_banded(const Draw& draw) {
  const std::uint64_t t = leaf(), band = tree_.band;
  if (t == 1) std::fill(prefix_.begin(), prefix_.end(), 0.0);
  draw(0, fresh_);
  const double scale = largest_;
  for (double& x : fresh_) x *= scale;
  for (std::uint64_t j = 1; j < std::min(band, t); ++j) add(-coefficient_[j], row((t - 1 - j) % band), fresh_);
  std::copy(fresh_.begin(), fresh_.end(), row((t - 1) % band).begin());
  add(1, fresh_, prefix_);
}

void PrefixNoise::next_buffered(const Draw& draw) {
  if (leaf() == 1) {
    std::fill(prefix_.begin(), prefix_.end(), 0.0);
    std::fill(kept_.begin(), kept_.end(), 0.0);
  }
  draw(0, fresh_);
  constexpr auto passes = buffered_passes(std::make_index_sequence<Buffers::most + 1>());
  const double norm = norms_.empty() ? 1 : norms_.at(leaf() - 1);
  passes.at(tree_.buffers.count)(tree_.buffers, largest_, norm, fresh_, kept_.data(), prefix_.data());
}

}  // namespace dpmpi
