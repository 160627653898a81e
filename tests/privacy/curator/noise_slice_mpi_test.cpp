// Ranks that may know the noise draw it by slices: the integers that the root would add alone, on any number of
// ranks.
#include "privacy/curator/noise_slice.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/files/archive.hpp"
#include "support/curator_world.hpp"
#include "support/mpi_harness.hpp"

namespace dpmpi::noise_slice_mpi_test {
namespace {

constexpr test::RecordsShape shape{Storage::dense_f32, 400, 4, 0, LabelKind::sign};
constexpr double one_record = 0x1p-7;

// Adds as much to every coordinate for every record.
const Kernel count = [](const Rows& rows, const L2Bound&, LatticeAccumulator& sum) {
  const std::vector<double> one(sum.dim(), one_record);
  for (std::size_t i = 0; i < rows.size(); ++i) sum.begin(1), sum.add(0, std::span<const double>(one));
};

// Traps: a coordinate without noise, or with that of two ranks, at the ends of slices or where ranks have none.
TEST(NoiseSlices, EveryCoordinateGetsTheRootsNoiseOnce) {
  test::for_each_size({1, 2, 3, 4, 5, 6, 7, 8}, [](const Communicator& comm) {
    for (const std::size_t dim : {1, 5, 17, 64, 1003}) {
      const QuerySpec spec{.name = "sum",
                           .dim = dim,
                           .sampling = FullBatch{},
                           .noise_multiplier = 1,
                           .steps = 2,
                           .kind = ExactSum{}};
      test::World together({.shape = shape, .blocks = 8, .comm = comm}, {spec});
      test::World root_alone({.shape = shape, .blocks = 8}, {spec});
      for (std::uint64_t t = 0; t < spec.steps; ++t) {
        const auto sum = together.release(t, count), noise = root_alone.release(t, test::nothing);
        for (std::size_t j = 0; j < dim; ++j) ASSERT_EQ(sum[j] - noise[j], 400 * one_record) << dim << ": " << j;
        EXPECT_NE(noise.front(), 0) << "there is noise";
      }
    }
  });
}

/// A spec for each way to draw noise.
std::vector<QuerySpec> every_way(std::size_t dim) {
  constexpr Shuffled order{.seed = 5, .first = 30, .batch = 10, .leaves = 8, .runs = 3};
  constexpr Buffers buffers{.count = 2, .decay = {0.9, 0.5}, .weight = {0.2, 0.3}};
  std::vector<QuerySpec> all;
  const auto add = [&](SamplingRule rule, QueryKind kind, Noise law) {
    all.push_back({.name = "sum",
                   .dim = dim,
                   .sampling = rule,
                   .noise_multiplier = 2,
                   .steps = 12,
                   .kind = kind,
                   .noise = law});
  };
  add(Poisson{0.3}, Sum{}, Noise::gaussian);
  add(Poisson{0.3}, Sum{}, Noise::discrete_gaussian);
  add(Poisson{0.3}, ExactSum{}, Noise::gaussian);
  for (const auto strategy :
       {Strategy::fenwick, Strategy::full_honaker, Strategy::sqrt_toeplitz, Strategy::banded, Strategy::blt})
    add(order, RunningSum{.strategy = strategy, .band = 3, .buffers = buffers, .adaptive = true}, Noise::gaussian);
  return all;
}

std::string what(const QuerySpec& spec) {
  return fmt::format("kind {}, {} coordinates, {}", spec.kind.index(), spec.dim, name(spec.noise));
}

/// What all releases are, as if the curator were killed before release `stop` and another went on.
std::vector<std::vector<double>> releases(test::World& world, std::uint64_t stop) {
  const auto scale = [&](std::uint64_t t) { return world.queries[0].as<RunningSum>() && t % 8 > 0 ? 0.5 : 1.0; };
  std::vector<std::vector<double>> all;
  for (std::uint64_t t = 0; t < stop; ++t) all.push_back(world.release(t, count, scale(t)));
  Archive saved;
  if (world.ledger) world.curator->archive(saved);
  world.start();
  if (world.ledger) {
    Archive archive(saved.bytes());
    world.curator->archive(archive);
    archive.finish();
  }
  world.curator->resume_at(stop);
  for (std::uint64_t t = stop; t < 12; ++t) all.push_back(world.release(t, count, scale(t)));
  return all;
}

// Whoever draws the noise, and wherever a run was killed. Trap: a rank that goes on with other noise than it had.
TEST(NoiseSlices, EveryWayToDrawNoiseHasTheBitsOfTheRoot) {
  test::for_each_size({2, 3, 8}, [](const Communicator& comm) {
    for (const std::size_t dim : {3, 1029})
      for (const QuerySpec& spec : every_way(dim)) {
        test::World together({.shape = shape, .blocks = 8, .comm = comm}, {spec});
        const auto by_slices = releases(together, 5);
        if (!comm.is_root()) continue;
        test::World root_alone({.shape = shape, .blocks = 8}, {spec});
        EXPECT_EQ(by_slices, releases(root_alone, 11)) << what(spec);
      }
  });
}

}  // namespace
}  // namespace dpmpi::noise_slice_mpi_test
