// The best of several runs on ranks: the same bits on any number of them, and trust in all.
#include <vector>

#include "core/errors.hpp"
#include "privacy/curator/part_world.hpp"
#include "support/mpi_harness.hpp"

namespace dpmpi::best_of_runs_mpi_test {
namespace {

using test::PartWorld;

QuerySpec spec() {
  return {.name = "best",
          .dim = 1,
          .sampling = FullBatch{},
          .bound = {2},
          .noise_multiplier = 1,
          .steps = 3,
          .kind = BestOfRuns{{.shape = 1, .gamma = 0.1}, 11}};
}

/// A sum that depends on the run's numbers.
Repetition program(std::span<const double> uniforms) {
  const double weight = uniforms[0] - uniforms[10];
  return {[weight](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
            for (const std::uint32_t i : rows.index) {
              const double v = std::clamp(weight * double{rows.records.row_f32(i)[1]}, -bound.clip, bound.clip);
              sum.begin(1);
              sum.add(0, std::span(&v, 1));
            }
          },
          uniforms[3]};
}

std::vector<double> released(PartWorld& world) {
  std::vector<double> all;
  for (std::uint64_t t = 0; t < 3; ++t) {
    const Selection best = world.curator->best_of_runs(world.query, t, program);
    all.push_back(best.sum);
    all.insert(all.end(), best.uniforms.begin(), best.uniforms.end());
  }
  return all;
}

TEST(BestOfRunsRanks, SameBitsOnAnyNumberOfRanks) {
  std::vector<double> alone;
  {
    PartWorld world(spec());
    alone = released(world);
  }
  test::world().barrier();
  test::for_each_size({1, 2, 3, 4, 8}, [&](const Communicator& comm) {
    PartWorld world(spec(), Adjacency::add_remove, 1, comm);
    EXPECT_EQ(released(world), alone);
    comm.barrier();
  });
}

// Every rank sees the runs that are not selected, and how many there are.
TEST(BestOfRunsRanks, NeedsTrustInAllRanks) {
  test::for_each_size({1, 2}, [&](const Communicator& comm) {
    PartWorld world(spec(), Adjacency::add_remove, 1, comm, true);
    if (comm.size() == 1)
      EXPECT_NO_THROW(world.curator->best_of_runs(world.query, 0, program));
    else
      EXPECT_THROW(world.curator->best_of_runs(world.query, 0, program), PrivacyError);
    comm.barrier();
  });
}

}  // namespace
}  // namespace dpmpi::best_of_runs_mpi_test
