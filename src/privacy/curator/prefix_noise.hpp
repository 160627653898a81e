#pragma once
// The noise of running sums under a tree or matrix mechanism: z_t = (D xi)_t, where D decodes prefix sums from the
// strategy's queries and xi are the independent draws, one for each query (node). Every draw is made once and kept
// as long as later prefixes need it; drawing a node again would let an observer average its noise away.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

/// How many rows of dim doubles the strategy keeps from leaf to leaf, beside the newest noise. Throws ConfigError
/// for `explicit`, of which no noise is made.
std::uint64_t rows_kept(const Tree& tree);
/// Whether they have 4 GB at most.
bool noise_can_be_kept(const Tree& tree, std::size_t dim);
/// Throws ConfigError if the strategy has to keep more than 4 GB of draws, or is `explicit`. For plans: the noise
/// itself is made on the root alone.
void check_kept_noise(const Tree& tree, std::size_t dim);

class PrefixNoise {
 public:
  /// Independent standard normals for the node of `level` that ends at the present leaf (levels are 0 for matrix
  /// strategies), all dim of them into `out`.
  using Draw = std::function<void(std::uint32_t level, std::span<double> out)>;

  /// Throws as check_kept_noise.
  PrefixNoise(const Tree& tree, std::size_t dim);

  /// Starts a new run: the next leaf is 1.
  void restart();
  std::uint64_t leaf() const { return scale_.size(); }  ///< leaves so far in this run

  /// The noise of the prefix that ends at the next leaf, valid until the next call. `leaf_scale` > 0 is this leaf's
  /// sensitivity in units of the largest one: a node is scaled by the largest leaf that it contains (matrix
  /// strategies: the largest so far), which keeps noise over sensitivity for every leaf (zo-o2nc's adaptive node
  /// noise).
  std::span<const double> next(double leaf_scale, const Draw& draw);

  /// Scales of the leaves so far: with them and the same draws, next() repeats the run up to here.
  std::span<const double> scales() const { return scale_; }

 private:
  void next_fenwick(const Draw& draw);
  void next_full(const Draw& draw);
  void next_sqrt_toeplitz(const Draw& draw);
  void next_banded(const Draw& draw);
  void next_buffered(const Draw& draw);
  double node_scale(std::uint32_t level) const;
  std::span<double> row(std::uint64_t i) { return std::span(kept_).subspan(i * dim_, dim_); }

  Tree tree_;
  std::size_t dim_;
  std::vector<double> scale_;        // of the leaves so far
  double largest_ = 0;               // of these
  std::vector<double> coefficient_;  // c_0, c_1, ...
  std::vector<double> norms_;        // of the columns, normalized_blt only
  AlignedVector<double> kept_;       // rows: one a level, or past draws
  AlignedVector<double> fresh_, prefix_;
};

}  // namespace dpmpi
