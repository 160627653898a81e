#pragma once
// What the benchmarks of whole steps share: random records in memory, and a method on its objective, ready to step.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include "comm/communicator.hpp"
#include "core/errors.hpp"
#include "method/method.hpp"
#include "privacy/events/ledger.hpp"

namespace dpmpi::bench {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Of this process. Waiting for a message spins, and counts.
inline double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
/// The largest of a number that every rank has. Collective; valid on the root.
inline double most_of_ranks(const Communicator& comm, double mine) {
  double most = mine;
  for (const std::string& text : comm.gather(fmt::format("{}", mine))) most = std::max(most, std::stod(text));
  return most;
}

/// A method and its objective. `options` are the objective's.
struct Case {
  std::string objective;
  Settings options = {};
  std::string method = "dp-sgd";
  Settings method_options = {};
  bool trust_ranks = false;  ///< with un-noised sums
};

inline std::unique_ptr<Objective> make_objective(const Case& chosen, std::uint64_t features, float bias) {
  std::vector<std::string> problems;
  for (const auto& entry : objectives())
    if (entry.name == chosen.objective) {
      const auto builder = entry.builder();
      Options options("objective");
      builder->declare(options);
      options.read(chosen.options, problems);
      verify(problems.empty(), "bad benchmark options");
      return builder->make({features, Storage::dense_f32, bias});
    }
  throw ConfigError(fmt::format("no objective {}", chosen.objective));
}

inline Records random_block(std::size_t count, std::size_t features, float bias, LabelKind kind, unsigned seed) {
  std::mt19937 bits(seed);
  Records r;
  r.storage = Storage::dense_f32, r.count = count, r.features = features, r.stride = round_up(features, 16);
  r.bias = bias;
  r.f32.resize(count * r.stride);
  for (auto& x : r.f32) x = static_cast<float>(bits()) * 0x1p-32f;
  for (std::size_t i = 0; i < count; ++i) {
    r.label.push_back(kind == LabelKind::class_ ? static_cast<float>(bits() % 10) : bits() % 2 ? 1.0f : -1.0f);
    double square = 1;
    for (std::size_t j = 0; j < features; ++j) square += r.row_f32(i)[j] * r.row_f32(i)[j];
    r.norm.push_back(static_cast<float>(std::sqrt(square) * (1 + 1e-6)));
  }
  return r;
}

/// A block of so many persons, of 1 .. most_records records each; a record each, if that is 0.
inline Records random_units(std::size_t units, std::size_t most_records, std::size_t features, float bias,
                            LabelKind kind, unsigned seed) {
  if (most_records == 0) return random_block(units, features, bias, kind, seed);
  std::mt19937 bits(seed + 1000);
  std::vector<std::uint32_t> begin{0};
  for (std::size_t p = 0; p < units; ++p)
    begin.push_back(begin.back() + 1 + static_cast<std::uint32_t>(bits() % most_records));
  Records r = random_block(begin.back(), features, bias, kind, seed);
  r.person_begin = std::move(begin);
  return r;
}

/// This rank's blocks of random records, about `records` in all. `burden`: as for Ownership::balanced.
/// `most_records`: as for random_units.
inline Shard random_shard(const Communicator& comm, std::uint64_t features, float bias, LabelKind kind,
                          std::uint32_t blocks, double burden, std::uint64_t records = 60000,
                          std::size_t most_records = 0) {
  Shard shard;
  shard.facts = {records * 2 / (most_records > 0 ? most_records + 1 : 2), features, Storage::dense_f32};
  shard.layout = BlockLayout::of(shard.facts, blocks);
  const Ownership ownership = Ownership::balanced(blocks, comm.size(), burden);
  for (std::uint32_t b = ownership.begin(comm.rank()); b < ownership.end(comm.rank()); ++b)
    shard.blocks.push_back(
        {b, shard.layout.begin(b), random_units(shard.layout.size(b), most_records, features, bias, kind, b)});
  return shard;
}

/// The root's work without records over a block's kernels: how many fewer blocks it should own.
inline double root_burden(const Objective& objective, std::uint64_t batch, std::uint32_t blocks) {
  return 4e-9 * static_cast<double>(objective.dim()) /
         (static_cast<double>(batch) / blocks * std::max(0.7e-6, objective.flops_per_record() / 1.3e11));
}

/// A run without its end: curator, ledger on disk and algorithm. Collective; `comm` and `shard` must outlive it.
class Subject {
 public:
  static constexpr std::uint64_t most_steps = 4000;

  Subject(const Communicator& comm, const Shard& shard, const Case& chosen, float bias, std::uint64_t batch)
      : objective_(make_objective(chosen, shard.facts.features, bias)) {
    static int subjects = 0;
    std::unique_ptr<MethodSettings> settings;
    for (const auto& entry : methods())
      if (entry.name == chosen.method) settings = entry.make();
    verify(settings != nullptr, "no such method");
    std::vector<std::string> problems;
    Options options("method");
    settings->declare(options);
    Settings given = chosen.method_options;
    given["method.batch"] = {std::to_string(batch), ""};
    options.read(given, problems);
    verify(problems.empty(), "bad benchmark options");
    const PublicFacts facts{shard.facts, objective_.get(), Adjacency::add_remove};
    plan_ = settings->plan(facts);
    std::vector<Query> queries;
    const bool persons = !shard.blocks.empty() && !shard.blocks.front().records.person_begin.empty();
    for (QuerySpec spec : plan_->queries(1.0)) {
      spec.unit = persons ? Unit::person : Unit::record;
      queries.push_back(
          Query::declare(spec, static_cast<std::uint32_t>(queries.size()), facts.adjacency, shard.facts.records));
    }
    curator_.emplace(comm, shard, queries, objective_->micro_batch_rows(), SecretKey::from_seed(1),
                     !chosen.trust_ranks);
    if (comm.is_root()) {
      path_ = fmt::format("steps_bench_{}_{}.jsonl", getpid(), subjects++);
      ledger_.emplace(Ledger::create(path_, {facts.adjacency, shard.facts.records}));
      curator_->record_in(*ledger_);
    }
    algorithm_ = plan_->start(*objective_, queries);
  }
  Subject(const Subject&) = delete;
  ~Subject() {
    if (!path_.empty()) std::filesystem::remove(path_);
  }

  void step() { algorithm_->step(*curator_, t_++); }
  std::uint64_t steps() const { return plan_->steps; }
  std::uint64_t steps_done() const { return t_; }
  const Curator::Timing& timing() const { return curator_->timing(); }
  const Objective& objective() const { return *objective_; }

 private:
  std::unique_ptr<Objective> objective_;
  std::unique_ptr<const MethodPlan> plan_;
  std::unique_ptr<Algorithm> algorithm_;
  std::string path_;
  std::optional<Ledger> ledger_;
  std::optional<Curator> curator_;
  std::uint64_t t_ = 0;
};

}  // namespace dpmpi::bench
