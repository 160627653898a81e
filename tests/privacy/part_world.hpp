#pragma once
// A curator over random records with one query of disjoint parts, for tests.

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "dpmpi/privacy/curator.hpp"
#include "support/shards.hpp"

namespace dpmpi::testing {

inline constexpr test::RecordsShape part_shape{Storage::dense_f32, 400, 6, 0, LabelKind::sign};
inline constexpr std::uint32_t part_blocks = 8;

struct PartWorld {
  Communicator comm;
  Shard shard;
  std::string path;
  std::optional<Ledger> ledger;  // root
  Query query;
  std::unique_ptr<Curator> curator;

  explicit PartWorld(const QuerySpec& spec, Adjacency adjacency = Adjacency::add_remove, std::uint64_t key = 1,
                     const Communicator& ranks = Communicator::alone(), bool mask_sums = false)
      : comm(ranks),
        shard(random_shard(part_shape, part_blocks, comm.rank(), comm.size())),
        path(own_path()),
        query(Query::declare(spec, 0, adjacency, part_shape.count)) {
    if (comm.is_root()) {
      std::filesystem::remove(path);
      ledger.emplace(Ledger::create(path, {adjacency, part_shape.count}));
    }
    start(key, mask_sums);
  }
  ~PartWorld() { std::filesystem::remove(path); }
  /// Worlds live side by side, also in several processes.
  static std::string own_path() {
    static int worlds = 0;
    return fmt::format("{}parts_{}_{}.jsonl", ::testing::TempDir(), getpid(), worlds++);
  }
  /// A new curator on the same ledger, as after a kill.
  void start(std::uint64_t key, bool mask_sums = false) {
    curator.reset();
    curator = std::make_unique<Curator>(comm, shard, std::vector{query}, 128,
                                        comm.is_root() ? std::optional(SecretKey::from_seed(key)) : std::nullopt,
                                        mask_sums);
    if (comm.is_root()) curator->record_in(*ledger);
  }
  /// Of a query that is exact.
  std::vector<double> release(std::uint64_t t, const Kernel& kernel) {
    const Batch batch = curator->draw(query, t);
    const auto out = curator->release_exact(curator->sum(query, batch, kernel));
    return {out.begin(), out.end()};
  }
  std::vector<double> relay(std::uint64_t t, const PhaseProgram& program) {
    const auto out = curator->release_exact(curator->relay(query, t, program));
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

}  // namespace dpmpi::testing
