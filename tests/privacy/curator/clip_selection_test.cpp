// The private choice of a clip: grid, exact sensitivity of its counts, their noise; and sums whose clip is far
// below the plan's, on a lattice that moved along.
#include "privacy/curator/clip_selection.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "support/curator_world.hpp"

namespace dpmpi::clip_selection_test {
namespace {

__extension__ using Wide = __int128;
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(ClipGrid, BinsHoldTheNormsBetweenTheirClips) {
  const ClipGrid grid(0.02);
  EXPECT_NEAR(grid.highest() / 0.02, 44841.55, 0.01);
  for (std::size_t j = 0; j < ClipGrid::bins; ++j) {
    EXPECT_EQ(grid.bin(grid.clip(j)), j);
    EXPECT_EQ(grid.bin(std::nextafter(grid.clip(j), 0)), j == 0 ? 0 : j - 1);
    EXPECT_NEAR(grid.clip(j), 0.02 * std::pow(1.25, static_cast<double>(j)), 1e-12 * grid.clip(j));
  }
  EXPECT_EQ(grid.bin(0), 0u);
  EXPECT_EQ(grid.bin(1e300), ClipGrid::bins - 1);
  for (const double none : {infinity, -infinity, std::nan("")}) EXPECT_EQ(grid.bin(none), ClipGrid::bins);
}

TEST(ClipGrid, ChoosesTheSmallestClipWithFewEnoughRecordsAbove) {
  const ClipGrid grid(1);
  std::vector<double> counts(ClipGrid::bins, 1.0);
  EXPECT_EQ(grid.choose(counts, 48), grid.clip(0));
  EXPECT_EQ(grid.choose(counts, 47.5), grid.clip(1));
  EXPECT_EQ(grid.choose(counts, 10), grid.clip(38));
  EXPECT_EQ(grid.choose(counts, 0.5), grid.highest());
  EXPECT_EQ(grid.choose(counts, -1), grid.highest());
  counts[47] = 1e9;  // as noisy counts may be: the tail of bin 5 falls to the target by a negative bin 4
  counts[4] = 1e9;
  EXPECT_EQ(grid.choose(counts, 1e9 + 100), grid.clip(5));
}

constexpr test::RecordsShape shape{Storage::dense_f32, 300, 9, 1, LabelKind::real};

std::vector<std::int64_t> counts_of(Objective& objective, const Query& query, const Records& records,
                                    const ClipGrid& grid) {
  LatticeAccumulator sum(query.dim, query.lattice, 1, 0, Width::int64);
  sum.clear();
  const std::vector<float> w(objective.dim(), 0.25f);
  std::vector<std::uint32_t> all(records.count);
  std::iota(all.begin(), all.end(), 0u);
  const Kernel kernel = grid.counts(objective, w);
  kernel({records, all}, query.bound, sum);
  return {sum.totals().begin(), sum.totals().end()};
}

// Exactly, in integers: a record that is taken away moves the counts by 1 at most, one that is replaced by sqrt(2)
// at most, and both are met.
TEST(ClipSelection, OneRecordMovesTheCountsByOneOrTheRootOfTwo) {
  const ClipGrid grid(0.01);
  const auto objective = test::make_objective("squared", {shape.features, shape.storage, shape.bias});
  const Records records = test::random_records(shape, 3);
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    const Query query = Query::declare(grid.query(0.7), 0, adjacency, shape.count);
    const Wide quantum = Wide{1} << query.lattice.k;  // lattice points in a count of one
    EXPECT_EQ(query.eta, 0);
    EXPECT_EQ(query.sensitivity, adjacency == Adjacency::add_remove ? 1 : std::sqrt(2.0));
    EXPECT_GE(query.sensitivity * query.sensitivity, adjacency == Adjacency::add_remove ? 1 : 2) << "rounded up";
    EXPECT_EQ(query.noise_std, 0.7 * query.sensitivity);
    const auto whole = counts_of(*objective, query, records, grid);
    EXPECT_EQ(std::accumulate(whole.begin(), whole.end(), Wide{0}), quantum * shape.count);
    Wide largest = 0;
    for (std::uint32_t i = 0; i < shape.count; ++i)
      for (const double factor : {1000.0, 0.0, 1e30, std::nan("")}) {
        Records neighbour = records;
        if (adjacency == Adjacency::add_remove)
          test::remove_record(neighbour, i);
        else
          for (std::size_t j = 0; j < records.features; ++j)
            neighbour.f32[i * records.stride + j] = static_cast<float>(factor * records.row_f32(i)[j]);
        test::update_norm(neighbour, i);
        const auto moved = counts_of(*objective, query, neighbour, grid);
        Wide square = 0;
        for (std::size_t j = 0; j < ClipGrid::bins; ++j)
          square += Wide{whole[j] - moved[j]} * (whole[j] - moved[j]);
        largest = std::max(largest, square);
        ASSERT_LE(square, (adjacency == Adjacency::add_remove ? 1 : 2) * quantum * quantum);
      }
    EXPECT_EQ(largest, (adjacency == Adjacency::add_remove ? 1 : 2) * quantum * quantum);
  }
}

TEST(ClipSelection, TakesKernelsThatCountAndNoOthers) {
  QuerySpec spec = ClipGrid(1).query(1);
  spec.noise_multiplier = 1e11;
  EXPECT_THROW(Query::declare(spec, 0, Adjacency::add_remove, 100), PrivacyError) << "counts below the quantum";
  spec = ClipGrid(1).query(1);
  spec.bound = {2};
  EXPECT_THROW(Query::declare(spec, 0, Adjacency::add_remove, 100), BugError);
}

/// A shard of empty slots with one query, so that releases are noise alone.
struct Silent : test::World {
  const Query& query = queries[0];
  explicit Silent(const QuerySpec& spec, Adjacency adjacency = Adjacency::replace_one, std::uint64_t key = 1)
      : test::World({.shape = shape, .blocks = 2, .adjacency = adjacency, .key = key}, {spec}) {
    for (auto& block : shard.blocks)
      for (std::size_t i = 0; i < block.records.count; ++i) test::remove_record(block.records, i);
    start();
  }
};

// Counts get N(0, 2 z^2) each under replace_one.
TEST(ClipSelection, NoiseOfTheCountsHasTheRootOfTwoTimesTheMultiplier) {
  const ClipGrid grid(1);
  const auto objective = test::make_objective("logistic", {shape.features, shape.storage, shape.bias});
  const std::vector<float> w(objective->dim(), 0.0f);
  double square = 0, mean = 0;
  constexpr int runs = 60;
  for (std::uint64_t key = 1; key <= runs; ++key) {
    Silent silent(grid.query(3), Adjacency::replace_one, key);
    const Batch batch = silent.curator->draw(silent.query, 0);
    if (key == 1) {
      EXPECT_THROW(silent.curator->sum(silent.query, batch, test::nothing), BugError);
    }
    for (const double count :
         silent.curator->release_exact(silent.curator->sum(silent.query, batch, grid.counts(*objective, w))))
      square += count * count, mean += count;
  }
  constexpr double draws = runs * 48;
  EXPECT_NEAR(square / (draws * 18), 1, 5 * std::sqrt(2 / draws));
  EXPECT_NEAR(mean / draws, 0, 5 * std::sqrt(18 / draws));
}

/// A gradient query whose clip may go down to that of the grid's lowest.
QuerySpec scaled_query(std::size_t dim) {
  return {.name = "gradient",
          .dim = dim,
          .sampling = FullBatch{},
          .bound = {ClipGrid(0.01).highest()},
          .slack = {3 * 0x1p-24, 1},
          .noise_multiplier = 20,
          .steps = 100,
          .kind = Sum{0.01 / ClipGrid(0.01).highest()}};
}

// The lattice moves along: at every clip of the grid the slack that is charged stays below 1e-2 of the clip (twice
// the plan's at most), the quantum above 2^-36 of the noise, and the accumulator holds as many records.
TEST(ScaledClip, SlackAndQuantumStayInProportion) {
  for (const std::size_t dim : {2u, 1000u, 1000000u}) {
    const Query q = Query::declare(scaled_query(dim), 0, Adjacency::add_remove, 1000000);
    const ClipGrid grid(0.01);
    for (std::size_t j = 0; j <= ClipGrid::bins; ++j) {
      const double scale = grid.clip(j) / grid.highest(), sensitivity = q.sensitivity * q.sensitivity_scale(scale);
      const double charged = sensitivity / grid.clip(j) - 1;
      EXPECT_GE(charged + 1e-15, 3 * 0x1p-24 + std::sqrt(static_cast<double>(dim)) * q.lattice_at(scale).quantum() /
                                                   2 / grid.clip(j));
      EXPECT_LE(charged, std::min(1e-2, q.eta + q.rounding + 1e-12));
      EXPECT_GE(q.lattice_at(scale).quantum(), 0x1p-36 * 20 * sensitivity);
      EXPECT_LE(grid.clip(j) * q.lattice_at(scale).scale(), grid.highest() * q.lattice.scale());
    }
    EXPECT_EQ(q.lattice_at(1).k, q.lattice.k);
    EXPECT_EQ(q.lattice_at(0.5).k, q.lattice.k + 1);
    EXPECT_EQ(q.lattice_at(0.51).k, q.lattice.k);
  }
}

// Exactly, in integers: neighbours' sums at clips all over the grid are within the sensitivity of that clip, and
// come near it. On the lattice of the largest clip the rounding alone would be above the smallest clips.
TEST(ScaledClip, NeighboursDifferByAtMostTheSensitivityOfTheClip) {
  const auto objective = test::make_objective("squared", {shape.features, shape.storage, shape.bias});
  const Query q = Query::declare(scaled_query(objective->dim()), 0, Adjacency::replace_one, shape.count);
  const ClipGrid grid(0.01);
  const std::vector<float> w(objective->dim(), 0.25f);
  Records records = test::random_records(shape, 3);
  for (float& x : records.f32) x *= 300;
  for (std::size_t i = 0; i < records.count; ++i) test::update_norm(records, i);
  std::vector<std::uint32_t> all(records.count);
  std::iota(all.begin(), all.end(), 0u);
  LatticeAccumulator sum(q.dim, q.lattice, q.bound.clip * (1 + q.eta));
  const auto total = [&](const Records& of, double scale) {
    sum.clear(q.lattice_at(scale));
    objective->at(w).add_clipped_gradients({of, all}, {q.bound.clip * scale}, sum);
    return std::vector<std::int64_t>(sum.totals().begin(), sum.totals().end());
  };
  for (std::size_t j = 0; j <= ClipGrid::bins; ++j) {
    const double scale = grid.clip(j) / grid.highest(), bound = q.sensitivity * q.sensitivity_scale(scale);
    for (const std::uint32_t i : {0u, 17u, 299u}) {
      Records present = records;
      present.label[i] = 1e6F;  // opposite gradients, both clipped
      const auto whole = total(present, scale);
      Records neighbour = records;
      neighbour.label[i] = -1e6F;
      const auto moved = total(neighbour, scale);
      Wide square = 0;
      for (std::size_t c = 0; c < whole.size(); ++c) square += Wide{whole[c] - moved[c]} * (whole[c] - moved[c]);
      const double distance = std::sqrt(static_cast<double>(square)) * sum.lattice().quantum();
      ASSERT_LE(distance, bound);
      EXPECT_GT(distance, 0.98 * bound);
    }
  }
}

// A sum at a small clip is released with noise of that clip's proportion, to 6 standard errors; a scale below the
// plan's is refused.
TEST(ScaledClip, NoiseShrinksWithTheClip) {
  Silent silent(scaled_query(400));
  const ClipGrid grid(0.01);
  std::uint64_t t = 0;
  for (const std::size_t j : {0u, 1u, 20u, 47u, 48u}) {
    const double scale = grid.clip(j) / grid.highest();
    double square = 0, count = 0;
    for (int i = 0; i < 10; ++i, ++t) {
      for (const double x : silent.release(t, test::nothing, scale)) square += x * x, ++count;
    }
    const double std = 20 * 2 * grid.clip(j);
    EXPECT_NEAR(square / (count * std * std), 1, 6 * std::sqrt(2 / count)) << j;
  }
  EXPECT_THROW(silent.release(t, test::nothing, silent.query.smallest_scale() * 0.99), PrivacyError);
}

}  // namespace
}  // namespace dpmpi::clip_selection_test
