// Phases on ranks: the same bits on any number of them, also where ranks or blocks hold nothing of a part.
#include <algorithm>
#include <vector>

#include "core/errors.hpp"
#include "privacy/curator/part_world.hpp"
#include "support/mpi_harness.hpp"

namespace dpmpi::phases_mpi_test {
namespace {

using test::PartWorld;
using test::unit_features;

constexpr std::size_t dim = 6;

// Parts of 5 and 1 records leave most blocks, and most of 8 ranks, without any.
QuerySpec spec() {
  return {.name = "phase",
          .dim = dim,
          .sampling = Disjoint{.parts = {{300, 1, 1}, {5, 1, 0.1}, {1, 1, 0.1}, {90, 1, 0.01}},
                               .seed = 5,
                               .places = Disjoint::Places::by_block},
          .noise_multiplier = 1,
          .steps = 4,
          .kind = Phases{.range = 1000}};
}

/// Sums in batches of 7, and a walk whose state depends on its order.
void program(PhaseView& phase, std::span<double> result) {
  for (std::uint64_t begin = 0; begin < phase.records(); begin += 7) {
    const auto sum = phase.sum(begin, std::min(begin + 7, phase.records()), {1}, unit_features());
    for (std::size_t j = 0; j < dim; ++j) result[j] = 0.9 * result[j] + sum[j];
  }
  phase.sequential_pass(result, [](const Rows& record, std::span<double> state) {
    const float* x = record.records.row_f32(record.index[0]);
    for (std::size_t j = 0; j < dim; ++j) state[j] = 0.99 * state[j] + double{x[j]};
  });
}

// A28.
TEST(RelayRanks, SameBitsOnAnyNumberOfRanks) {
  std::vector<std::vector<double>> alone;
  {
    PartWorld world(spec());
    for (std::uint64_t t = 0; t < 4; ++t) alone.push_back(world.run_phase(t, program));
  }
  test::world().barrier();
  test::for_each_size({1, 2, 3, 8}, [&](const Communicator& comm) {
    PartWorld world(spec(), Adjacency::add_remove, 1, comm);
    for (std::uint64_t t = 0; t < 4; ++t) EXPECT_EQ(world.run_phase(t, program), alone[t]) << "phase " << t;
    comm.barrier();
  });
}

// The same draws for every record, whatever rank holds it, and one that all ranks share.
TEST(RelayRanks, SameNoiseOfRecordsOnAnyNumberOfRanks) {
  QuerySpec own = spec();
  std::get<Phases>(own.kind).own_noise = {.output_share = 0.5};
  const PhaseProgram draw = [](PhaseView& phase, std::span<double> result) {
    result[0] = phase.normal();
    phase.sequential_pass(result, [&](const Rows& record, std::span<double> state) {
      state[1] = 0.9 * state[1] + phase.laplace(record.index[0]);
    });
  };
  std::vector<std::vector<double>> alone;
  {
    PartWorld world(own);
    for (std::uint64_t t = 0; t < 4; ++t) alone.push_back(world.run_phase(t, draw));
  }
  test::world().barrier();
  test::for_each_size({1, 2, 3, 8}, [&](const Communicator& comm) {
    PartWorld world(own, Adjacency::add_remove, 1, comm);
    for (std::uint64_t t = 0; t < 4; ++t) EXPECT_EQ(world.run_phase(t, draw), alone[t]) << "phase " << t;
    comm.barrier();
  });
}

// Every rank sees the state of a phase: that needs trust in every rank.
TEST(RelayRanks, NeedsTrustInAllRanks) {
  test::for_each_size({1, 2}, [&](const Communicator& comm) {
    PartWorld world(spec(), Adjacency::add_remove, 1, comm, true);
    if (comm.size() == 1)
      EXPECT_NO_THROW(world.run_phase(0, program));
    else
      EXPECT_THROW(world.run_phase(0, program), PrivacyError);
    comm.barrier();
  });
}

}  // namespace
}  // namespace dpmpi::phases_mpi_test
