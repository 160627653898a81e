// What a step sends, counted below MPI's own interface: d words and one flag to the root, d floats and one flag
// back.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/traffic.hpp"
#include "method/method.hpp"
#include "privacy/curator/curator.hpp"
#include "privacy/curator/part_world.hpp"
#include "problems/trial.hpp"
#include "support/mpi_harness.hpp"
#include "support/shards.hpp"

namespace dpmpi::traffic_mpi_test {
namespace {

/// A curator and its ledger on the root.
struct Recorded {
  std::optional<Ledger> ledger;
  Curator curator;

  Recorded(const Communicator& comm, const Shard& shard, const std::vector<Query>& queries, bool mask_sums = true)
      : curator(comm, shard, queries, 64, comm.is_root() ? std::optional(SecretKey::from_seed(1)) : std::nullopt,
                mask_sums) {
    if (!comm.is_root()) return;
    const std::string path = ::testing::TempDir() + "traffic.jsonl";
    std::filesystem::remove(path);
    ledger.emplace(Ledger::create(path, {queries[0].adjacency, queries[0].records}));
    curator.record_in(*ledger);
  }
};

// Noise by slices (mask_sums = false) needs no message: of two ranks, the worker's slice is the half that has noise
// and is not int32 any more.
void expect_one_sum_and_one_release(bool mask_sums) {
  constexpr std::size_t dim = 512;
  test::for_each_size({2, 3, 5}, [&](const Communicator& comm) {
    const Shard shard =
        test::random_shard({Storage::dense_f32, 800, 4, 0, LabelKind::sign}, 8, comm.rank(), comm.size());
    const Shuffled order{.seed = 5, .first = 40, .batch = 10, .leaves = 64};
    const std::vector queries{Query::declare(
        {.name = "sum", .dim = dim, .sampling = order, .noise_multiplier = 1, .steps = 64, .kind = RunningSum{}}, 0,
        Adjacency::add_remove, 800)};
    Recorded recorded(comm, shard, queries, mask_sums);
    Curator& curator = recorded.curator;
    const Kernel nothing = [](const Rows&, const L2Bound&, LatticeAccumulator&) {};
    const auto step = [&](std::uint64_t t) {
      const Batch batch = curator.draw(queries[0], t);
      curator.release(curator.sum(queries[0], batch, nothing));
    };
    step(0);  // the first one shares what a window of steps needs
    for (std::uint64_t t = 1; t < 64; ++t) {
      test::traffic = {};
      step(t);
      if (comm.size() > 2) {
        EXPECT_EQ(test::traffic.up, 8 * (dim + 1)) << "int64, masked";
      } else if (!comm.is_root()) {
        const std::size_t front = mask_sums ? dim : dim / 2;
        EXPECT_EQ(test::traffic.up, 8 + 4 * front + 8 * (dim - front + 1))
            << "how long the front is, and int32 there";
      }
      EXPECT_EQ(test::traffic.down, 4 * (dim + 1));
      EXPECT_EQ(test::traffic.other, 0u);
    }
  });
}

TEST(Traffic, AStepSendsOneSumAndOneRelease) {
  expect_one_sum_and_one_release(true);
  expect_one_sum_and_one_release(false);
}

// K scalars and a flag up, the same down, however many parameters there are and wherever the noise is.
TEST(Traffic, AZerothOrderStepSendsItsScalars) {
  constexpr std::uint64_t K = 8;
  for (const std::uint64_t features : {20u, 2000u, 100000u})
    test::for_each_size({2, 3}, [&](const Communicator& comm) {
      const Shard shard =
          test::random_shard({Storage::dense_f32, 40, features, 0, LabelKind::sign}, 4, comm.rank(), comm.size());
      const auto objective = test::make_objective("logistic", {features, Storage::dense_f32, 0});
      const auto settings = test::make_settings("zo-hidden", {{"directions", "8"},
                                                              {"steps", "6"},
                                                              {"window", "4"},
                                                              {"share", "0.5"},
                                                              {"ball", "0.1"},
                                                              {"feature_bound", "1"}});
      const PublicFacts facts{{40, features, Storage::dense_f32}, objective.get(), Adjacency::replace_one};
      const auto plan = settings->plan(facts);
      const std::vector queries{Query::declare(plan->queries(5).at(0), 0, Adjacency::replace_one, 40)};
      Recorded recorded(comm, shard, queries);
      Curator& curator = recorded.curator;
      const auto algorithm = plan->start(*objective, queries);
      for (std::uint64_t t = 0; t < 6; ++t) {
        test::traffic = {};
        algorithm->step(curator, t);
        if (comm.size() > 2) {
          EXPECT_EQ(test::traffic.up, 8 * K + 8);
        } else if (!comm.is_root()) {
          EXPECT_EQ(test::traffic.up, 8 * K + 8 + 8) << "and how wide the numbers are";
        }
        EXPECT_EQ(test::traffic.down, 8 * K + 8);
        EXPECT_EQ(test::traffic.other, 0u);
      }
    });
}

// A27, T20: points, a map of all losses so far and the released gradient down, one sum up and nothing else (an
// Allreduce would count as other), however many records there are.
TEST(Traffic, AGiboStepSendsItsDesign) {
  constexpr std::uint64_t d = 5, b = 3, n = 40;
  test::for_each_size({2, 3}, [&](const Communicator& comm) {
    const Shard shard =
        test::random_shard({Storage::dense_f32, n, d, 0, LabelKind::real}, 4, comm.rank(), comm.size());
    const auto objective = test::make_objective("mean", {d, Storage::dense_f32, 0});
    const auto settings = test::make_settings("gibo", {{"steps", "6"}, {"batch", "fixed"}, {"b", "3"}});
    const PublicFacts facts{{n, d, Storage::dense_f32}, objective.get(), Adjacency::replace_one};
    const auto plan = settings->plan(facts);
    const std::vector queries{Query::declare(plan->queries(5).at(0), 0, Adjacency::replace_one, n)};
    Recorded recorded(comm, shard, queries);
    Curator& curator = recorded.curator;
    const auto algorithm = plan->start(*objective, queries);
    for (std::uint64_t t = 0; t < 6; ++t) {
      test::traffic = {};
      algorithm->step(curator, t);
      const std::uint64_t N = b * (t + 1), words = 3;  // lengths of points and map, and the flag to stop
      const std::uint64_t turned = N < d ? d + 1 : 0;  // then the map is N x N, and the gradient is turned back
      EXPECT_EQ(test::traffic.down, 8 * (b * d + N * std::min(N, d) + d + words + turned));
      EXPECT_LE(test::traffic.down, 8 * (b * d + N * d + d + words + d));
      EXPECT_LE(test::traffic.up, 8 * d + 8 + 8);
      EXPECT_EQ(test::traffic.other, 0u);
      constexpr std::uint64_t flag_and_width = 2;
      EXPECT_LE(test::traffic.up + test::traffic.down,
                8 * (d + N * d + b * d + d) + 8 * (words + flag_and_width + (N < d ? d + 1 : 0)));
    }
  });
}

/// A round of private-diff: bytes per release of the dual and of the primal query.
void expect_round(const Communicator& comm, const std::string& name, const ObjectiveFacts& data,
                  const std::vector<std::pair<std::string, std::string>>& options, std::uint64_t primal,
                  std::uint64_t dual) {
  const Shard shard = test::random_shard({data.storage, 24, data.features, data.bias, LabelKind::sign}, 3,
                                         comm.rank(), comm.size());
  const auto objective = test::make_objective(name, data, options);
  const auto settings = test::make_settings("private-diff", {{"batch", "8"},
                                                             {"steps", "4"},
                                                             {"restart", "2"},
                                                             {"dual_steps", "2"},
                                                             {"dual_clip", "1"},
                                                             {"dual_rate", "0.1"}});
  const PublicFacts facts{shard.facts, objective.get(), Adjacency::add_remove};
  const auto plan = settings->plan(facts);
  const auto queries = test::queries_of(*plan, facts, 1);
  Recorded recorded(comm, shard, queries);
  Curator& curator = recorded.curator;
  const auto algorithm = plan->start(*objective, queries);
  for (std::uint64_t r = 0; r < 4; ++r) {
    test::traffic = {};
    algorithm->step(curator, r);
    constexpr std::uint64_t releases = 3, flag = 8;
    EXPECT_EQ(test::traffic.up, primal + 2 * dual + releases * flag) << name << ", round " << r;
    EXPECT_EQ(test::traffic.down, (primal + 2 * dual) / 2 + releases * flag / 2) << name << ", round " << r;
    EXPECT_EQ(test::traffic.other, 0u);
  }
}

// A26 of the min-max methods: 8 bytes up for each coordinate, as many as a double takes, and a float32 down. A
// round has its dual steps and one primal query, a difference or not; on three ranks sums are masked and never
// narrow.
TEST(Traffic, AMinMaxRoundSendsItsQueriesAndNoMore) {
  test::for_each_size({3}, [](const Communicator& comm) {
    expect_round(comm, "auc", {784, Storage::dense_f32, 1},
                 {{"objective.prior", "0.1"}, {"objective.scorer", "mlp"}}, 1871896, 8);
    expect_round(comm, "td", {9, Storage::dense_f32, 1}, {}, 2408, 2408);
  });
}

// A29 of the methods in phases: d words to all ranks for each sum, the state once from rank to rank for a
// sequential pass, and d words down with a flag for the release; no record is in any message.
TEST(Traffic, APhaseSendsItsSumsAndItsResult) {
  constexpr std::uint64_t d = 6, sums = 5, flag = 8;
  const QuerySpec spec{
      .name = "phase",
      .dim = d,
      .sampling = Disjoint{.parts = {{200, 1, 1}, {200, 1, 1}}, .places = Disjoint::Places::by_block},
      .noise_multiplier = 1,
      .steps = 2,
      .kind = Phases{.range = 1000}};
  test::for_each_size({2, 3}, [&](const Communicator& comm) {
    test::PartWorld world(spec, Adjacency::add_remove, 1, comm);
    test::watched.clear();
    for (const Block& block : world.shard.blocks)
      for (std::size_t i = 0; i < block.records.count; ++i)
        test::watched.emplace_back().bytes.assign(reinterpret_cast<const char*>(block.records.row_f32(i)),
                                                  d * sizeof(float));
    world.run_phase(0, [](PhaseView&, std::span<double>) {});  // the first one shares what a window of steps needs
    test::traffic = {};
    world.run_phase(1, [&](PhaseView& phase, std::span<double> result) {
      for (std::uint64_t i = 0; i < sums; ++i) phase.sum(40 * i, 40 * (i + 1), {1}, test::unit_features());
      phase.sequential_pass(result, [](const Rows&, std::span<double>) {});
    });
    EXPECT_EQ(test::traffic.other, sums * 8 * d + flag) << "a stop is agreed upon";
    EXPECT_GE(test::traffic.up, 8 * d) << "the state, to the next rank";
    EXPECT_LE(test::traffic.up, 8 * d + 8) << "and how long it is";
    EXPECT_EQ(test::traffic.down, 8 * d + 8 * (d + 1)) << "the state after the pass, and the release";
    for (const auto& record : test::watched) EXPECT_FALSE(record.seen);
    test::watched.clear();
    comm.barrier();
  });
}

// T14. A min-max run on four ranks: neither the job's key nor, unless all ranks are trusted, the noise key is in
// any message; the ranks get the selection keys of their blocks.
void expect_keys_where_they_belong(bool ranks_trusted) {
  test::for_each_size({4}, [&](const Communicator& comm) {
    const SecretKey key = SecretKey::from_seed(7);
    const auto text = [](const SecretKey& k) {
      return std::string(reinterpret_cast<const char*>(k.bytes().data()), k.bytes().size());
    };
    const Shard shard =
        test::random_shard({Storage::dense_f32, 400, 4, 0, LabelKind::sign}, 8, comm.rank(), comm.size());
    std::vector<Query> queries;
    for (const auto& [name, schedule] :
         {std::pair{"restart", Schedule{3, 0, 1}}, {"difference", Schedule{3, 1, 3}}})
      queries.push_back(Query::declare({.name = name,
                                        .dim = 9,
                                        .sampling = Poisson{0.2},
                                        .noise_multiplier = 1,
                                        .steps = 2,
                                        .schedule = schedule},
                                       static_cast<std::uint32_t>(queries.size()), Adjacency::add_remove, 400));
    const std::string path = ::testing::TempDir() + "noise_key.jsonl";
    std::optional<Ledger> ledger;
    if (comm.is_root()) {
      std::filesystem::remove(path);
      ledger.emplace(Ledger::create(path, {Adjacency::add_remove, 400}));
    }
    test::watched = {{text(key)}, {text(key.derive("noise"))}, {text(key.derive("selection", 7))}};
    Curator curator(comm, shard, queries, 64, comm.is_root() ? std::optional(key) : std::nullopt, !ranks_trusted);
    if (comm.is_root()) curator.record_in(*ledger);
    const Kernel nothing = [](const Rows&, const L2Bound&, LatticeAccumulator&) {};
    for (const auto& query : queries)
      for (std::uint64_t t = 0; t < query.steps; ++t) {
        const Batch batch = curator.draw(query, t);
        curator.release(curator.sum(query, batch, nothing));
      }
    EXPECT_FALSE(test::watched[0].seen);
    EXPECT_EQ(test::watched[1].seen, ranks_trusted && comm.is_root());
    EXPECT_EQ(test::watched[2].seen, comm.is_root()) << "messages are searched";
    test::watched.clear();
  });
}

TEST(Traffic, TrapTheNoiseKeyStaysOnTheRoot) {
  expect_keys_where_they_belong(false);
  expect_keys_where_they_belong(true);
}

}  // namespace
}  // namespace dpmpi::traffic_mpi_test
