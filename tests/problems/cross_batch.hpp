#pragma once
// The primal queries of the printed PrivateDiff, whose differences pair the records of two batches: for a
// simulation that is NOT PRIVATE. No kernel of an objective does that, so gradients are written out one by one;
// slow.
//
// Records are known by their slots (a query with the sampling rule Shuffled over all records). Round r's batch
// holds the slots with a public coin below `rate`; within a micro-batch the j-th record of one batch is the partner
// of the j-th of the other, and records without a partner stand alone.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "objective/minimax/saddle.hpp"

namespace dpmpi::test {

struct PublicBatches {
  std::uint64_t seed = 1;
  double rate = 1;
};

// The rows of a micro-batch that are in round r's batch.
inline std::vector<std::uint32_t> members(const Rows& rows, const PublicBatches& batches, std::uint64_t r) {
  const PublicStream coins(batches.seed, "public batch", r);
  std::vector<std::uint32_t> chosen;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (coins.uniform(rows.slot[i]) <= batches.rate) chosen.push_back(rows.index[i]);
  return chosen;
}

// Gradients one by one, to 2^-30 of `largest`.
class OwnGradients {
 public:
  OwnGradients(SaddleObjective& objective, double largest)
      : largest_(largest), sum_(objective.primal_dim(), Lattice{29 - std::ilogb(largest)}, largest * 1.01) {}

  std::size_t dim() const { return sum_.dim(); }
  /// total += sign * grad_x of row i at a point of the objective.
  void add(const AtSaddlePoint& at, const Records& records, std::uint32_t i, double sign, std::span<double> total) {
    sum_.clear();
    at.add_clipped_primal_gradients({records, std::span(&i, 1)}, {largest_}, sum_);
    const auto g = sum_.totals();
    for (std::size_t j = 0; j < dim(); ++j) total[j] += sign * static_cast<double>(g[j]) * sum_.lattice().quantum();
  }

 private:
  double largest_;
  LatticeAccumulator sum_;
};

inline void add_clipped(std::span<double> g, double clip, LatticeAccumulator& sum) {
  double square = 0;
  for (const double value : g) square += value * value;
  if (const double norm = std::sqrt(square); norm > clip)
    for (double& value : g) value *= clip / norm * (1 - 1e-12);
  sum.begin(1);
  sum.add(0, std::span<const double>(g));
}

inline constexpr std::size_t pairs_at_once = 16;  // a point is prepared once for so many gradients

/// sum of clip(grad_x f(w; z)) over round r's batch. `w` must stay unchanged while the kernel runs. Local.
inline Kernel public_batch_gradients(SaddleObjective& objective, std::span<const float> w,
                                     const PublicBatches& batches, std::uint64_t r) {
  return [at = objective.at(w), batches, r](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    const auto chosen = members(rows, batches, r);
    if (!chosen.empty()) at.add_clipped_primal_gradients({rows.records, chosen}, bound, sum);
  };
}

/// sum_j of clip(grad_x f(w; z_r^j) - grad_x f(v; z_{r-1}^j)). Gradients longer than `largest` are clipped to it.
inline Kernel cross_batch_differences(SaddleObjective& objective, std::span<const float> w,
                                      std::span<const float> v, const PublicBatches& batches, std::uint64_t r,
                                      double largest) {
  const auto gradients = std::make_shared<OwnGradients>(objective, largest);
  return [=, &objective](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    const auto now = members(rows, batches, r), before = members(rows, batches, r - 1);
    const std::size_t pairs = std::max(now.size(), before.size()), dim = gradients->dim();
    std::vector<double> difference(pairs_at_once * dim);
    for (std::size_t first = 0; first < pairs; first += pairs_at_once) {
      const std::size_t last = std::min(pairs, first + pairs_at_once);
      const auto of = [&](std::size_t j) { return std::span(difference).subspan((j - first) * dim, dim); };
      std::fill(difference.begin(), difference.end(), 0.0);
      const AtSaddlePoint at_w = objective.at(w);
      for (std::size_t j = first; j < std::min(last, now.size()); ++j)
        gradients->add(at_w, rows.records, now[j], 1, of(j));
      const AtSaddlePoint at_v = objective.at(v);
      for (std::size_t j = first; j < std::min(last, before.size()); ++j)
        gradients->add(at_v, rows.records, before[j], -1, of(j));
      for (std::size_t j = first; j < last; ++j) add_clipped(of(j), bound.clip, sum);
    }
  };
}

}  // namespace dpmpi::test
