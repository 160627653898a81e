#pragma once
// A curator over random records, with a ledger of its own.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "privacy/curator/curator.hpp"
#include "support/shards.hpp"

namespace dpmpi::test {

struct World {
  struct Setup {
    test::RecordsShape shape;
    std::uint32_t blocks = 4;
    Adjacency adjacency = Adjacency::add_remove;
    std::uint64_t key = 1;
    Communicator comm = Communicator::alone();
    bool mask_sums = false;
  };

  Setup setup;
  Shard shard;
  std::string path = own_path();
  std::optional<Ledger> ledger;  // root
  std::vector<Query> queries;
  std::unique_ptr<Curator> curator;

  World(const Setup& with, const std::vector<QuerySpec>& specs)
      : setup(with), shard(random_shard(with.shape, with.blocks, with.comm.rank(), with.comm.size())) {
    for (QuerySpec spec : specs) {
      spec.sampling = stratified(spec.sampling, shard.layout);
      queries.push_back(
          Query::declare(spec, static_cast<std::uint32_t>(queries.size()), setup.adjacency, setup.shape.count));
    }
    if (setup.comm.is_root()) ledger.emplace(Ledger::create(path, {setup.adjacency, setup.shape.count}));
    start();
  }
  World(const World&) = delete;
  ~World() { std::filesystem::remove(path); }

  /// Worlds live side by side, also in several processes.
  static std::string own_path() {
    static int worlds = 0;
    return fmt::format("{}world_{}_{}.jsonl", ::testing::TempDir(), getpid(), worlds++);
  }
  /// A new curator on the same ledger, as after a kill.
  void start() {
    curator = std::make_unique<Curator>(
        setup.comm, shard, queries, 128,
        setup.comm.is_root() ? std::optional(SecretKey::from_seed(setup.key)) : std::nullopt, setup.mask_sums);
    if (setup.comm.is_root()) curator->record_in(*ledger);
  }
  /// The same with the ledger as its file has it. Of one rank.
  void reopen() {
    ledger.reset();
    ledger.emplace(Ledger::open(path));
    start();
  }
  /// Release t of a query, by whichever of the two ways it has.
  std::vector<double> release(std::uint64_t t, const Kernel& kernel, double scale = 1,
                              std::size_t query_index = 0) {
    const Query& query = queries[query_index];
    const Batch batch = curator->draw(query, t);
    auto sum = curator->sum(query, batch, kernel, scale);
    const auto copy = [](auto values) { return std::vector<double>(values.begin(), values.end()); };
    return query.exact ? copy(curator->release_exact(std::move(sum))) : copy(curator->release(std::move(sum)));
  }
};

/// So that releases are noise alone.
inline const Kernel nothing = [](const Rows&, const L2Bound&, LatticeAccumulator&) {};

}  // namespace dpmpi::test
