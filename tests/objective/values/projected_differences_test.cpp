#include "objective/values/projected_differences.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "objective/values/difference_cases.hpp"
#include "support/allocations.hpp"

namespace dpmpi::test::projected_differences_test {
namespace {

constexpr std::uint64_t key = difference_key;
using enum DirectionLaw;

// Two evaluations a direction in long double, for radii at which they still tell the difference.
TEST(ProjectedDifferences, AreThoseOfTheLossesInEveryStorage) {
  constexpr std::size_t features = 37, K = 6;
  for (const LossCase& loss : loss_cases())
    for (const Storage storage : storages)
      for (const float bias : {0.0F, 0.5F})
        for (const double xi : {1e-4, 0.3, 4.0}) {
          const auto trace =
              fmt::format("{}, storage {}, bias {}, xi {}: ", loss.name, static_cast<int>(storage), bias, xi);
          const auto objective = loss.make({features, storage, bias});
          const Records records = records_for(loss, storage, 9, features, bias);
          Frames frames(stiefel, objective->dim(), K, key);
          frames.begin(4);
          ProjectedDifferences probe(*objective, frames, {.radius = xi});
          EXPECT_TRUE(probe.linear());
          const Values w = some_point(objective->dim(), 1.5);
          for (std::uint32_t i = 0; i < records.count; ++i)
            expect_contribution(probe.kernel(w), records, i, references(loss, records, i, w, frames, xi), trace);
        }
}

// Subtracting two losses in double would leave no digit of the difference.
TEST(ProjectedDifferences, KeepTheirDigitsAtTinyRadii) {
  constexpr std::size_t features = 37, K = 6;
  for (const LossCase& loss : loss_cases()) {
    if (loss.name == std::string("absolute")) continue;  // has no stable form
    const auto objective = loss.make({features, Storage::dense_f32, 1});
    const Records records = records_for(loss, Storage::dense_f32, 9, features, 1);
    Frames frames(stiefel, objective->dim(), K, key);
    frames.begin(4);
    ProjectedDifferences probe(*objective, frames, {.radius = 1e-12});
    const Values w = some_point(objective->dim(), 1.5);
    for (std::uint32_t i = 0; i < records.count; ++i)
      expect_contribution(probe.kernel(w), records, i, references(loss, records, i, w, frames, 1e-6), loss.name);
  }
}

TEST(ProjectedDifferences, HaveTheSameBitsInAnyMicroBatchAndTile) {
  constexpr std::size_t features = 700, K = 11;
  for (const LossCase& loss : loss_cases())
    for (const Storage storage : storages) {
      SCOPED_TRACE(fmt::format("{}, storage {}", loss.name, static_cast<int>(storage)));
      const auto objective = loss.make({features, storage, 1});
      const Records records = records_for(loss, storage, 53, features, 1);
      const Values w = some_point(objective->dim(), 0.3);
      const auto sums = [&](std::size_t tile_bytes, std::span<const std::uint32_t> index, std::size_t rows) {
        Frames frames(stiefel, objective->dim(), K, key, tile_bytes);
        frames.begin(2);
        ProjectedDifferences probe(*objective, frames, {.radius = 1e-3, .l2 = 0.1});
        const Kernel kernel = probe.kernel(w);
        EXPECT_EQ(kernel.readings, frames.tiles());
        return totals(kernel, K, records, index, 4, fine, rows);
      };
      std::vector<std::uint32_t> index = all_of(records);
      const Totals whole = sums(1 << 25, index, 512);
      EXPECT_NE(whole, Totals(K));
      for (const std::size_t rows : {1, 7, 24, 52}) EXPECT_EQ(sums(1 << 25, index, rows), whole) << rows;
      for (const std::size_t rows : {1, 7, 512}) EXPECT_EQ(sums(1, index, rows), whole) << rows;
      std::reverse(index.begin(), index.end());
      EXPECT_EQ(sums(1 << 25, index, 10), whole);
    }
}

TEST(ProjectedDifferences, SparseAndDenseRecordsWithTheSameValuesHaveTheSameBits) {
  constexpr std::size_t features = 300, K = 5;
  for (const LossCase& loss : loss_cases()) {
    const Records sparse = records_for(loss, Storage::sparse_f32, 40, features, 1);
    Records dense = records_for(loss, Storage::dense_f32, 40, features, 1);
    for (std::size_t i = 0; i < dense.count; ++i)
      for (std::size_t j = 0; j < features; ++j)
        dense.f32[i * dense.stride + j] = static_cast<float>(feature(sparse, i, j));
    dense.label = sparse.label;
    dense.norm = sparse.norm;
    const auto sums = [&](const Records& records) {
      const auto objective = loss.make({features, records.storage, 1});
      Frames frames(stiefel, objective->dim(), K, key);
      frames.begin(0);
      ProjectedDifferences probe(*objective, frames, {.radius = 1e-2});
      const Values w = some_point(objective->dim(), 1);
      return totals(probe.kernel(w), K, records, all_of(records), 4, fine);
    };
    EXPECT_EQ(sums(sparse), sums(dense)) << loss.name;
  }
}

TEST(ProjectedDifferences, AStepAllocatesNothing) {
  constexpr std::size_t features = 900, K = 9;
  for (const LossCase& loss : loss_cases())
    for (const Storage storage : storages)
      for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 25}) {
        const auto objective = loss.make({features, storage, 1});
        const Records records = records_for(loss, storage, 30, features, 1);
        const auto index = all_of(records);
        Frames frames(stiefel, objective->dim(), K, key, bytes);
        ProjectedDifferences probe(*objective, frames, {});
        const Values w = some_point(objective->dim(), 1);
        LatticeAccumulator sum(K, fine, 4);
        const auto step = [&](std::uint64_t t) {
          frames.begin(t);
          probe.kernel(w).run({.clip = 1}, sum, [&](const auto& visit) { visit(Rows{records, index}); });
        };
        step(0);
        const std::size_t before = allocation_count();
        step(1);
        EXPECT_EQ(allocation_count(), before) << loss.name << static_cast<int>(storage);
      }
}

}  // namespace
}  // namespace dpmpi::test::projected_differences_test
