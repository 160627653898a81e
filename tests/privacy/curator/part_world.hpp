#pragma once
// A world of one query over disjoint parts.

#include <cmath>
#include <vector>

#include "support/curator_world.hpp"

namespace dpmpi::test {

inline constexpr test::RecordsShape part_shape{Storage::dense_f32, 400, 6, 0, LabelKind::sign};

struct PartWorld : World {
  const Query& query = queries[0];

  explicit PartWorld(const QuerySpec& spec, Adjacency adjacency = Adjacency::add_remove, std::uint64_t key = 1,
                     const Communicator& ranks = Communicator::alone(), bool mask_sums = false)
      : World({.shape = part_shape,
               .blocks = 8,
               .adjacency = adjacency,
               .key = key,
               .comm = ranks,
               .mask_sums = mask_sums},
              {spec}) {}
  std::vector<double> run_phase(std::uint64_t t, const PhaseProgram& program) {
    const auto out = curator->release_exact(curator->run_phase(query, t, program));
    return {out.begin(), out.end()};
  }
  /// Record `index` (global) of this rank's shard, or null.
  float* record(std::uint64_t index) {
    for (auto& block : shard.blocks)
      if (index >= block.first_index && index < block.first_index + block.records.count)
        return block.records.f32.data() + (index - block.first_index) * block.records.stride;
    return nullptr;
  }
};

/// The records' features, each scaled to the bound's norm, in double. Zero rows contribute nothing.
inline Kernel unit_features() {
  return [](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    std::vector<double> v(sum.dim());
    for (const std::uint32_t row : rows.index) {
      const float* x = rows.records.row_f32(row);
      double square = 0;
      for (std::size_t j = 0; j < v.size(); ++j) square += double{x[j]} * x[j];
      const double scale = square > 0 ? bound.clip / std::sqrt(square) * (1 - 0x1p-50) : 0;
      for (std::size_t j = 0; j < v.size(); ++j) v[j] = scale * double{x[j]};
      sum.begin(1);
      sum.add(0, std::span<const double>(v));
    }
  };
}

inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double square = 0;
  for (std::size_t j = 0; j < a.size(); ++j) square += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(square);
}

}  // namespace dpmpi::test
