#pragma once
// A method on one rank, step by step, with the curator that the plan gives it.

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "method/method.hpp"
#include "objective/minimax/saddle.hpp"
#include "privacy/curator/phase_view.hpp"
#include "problems/black_box.hpp"
#include "support/shards.hpp"

namespace dpmpi::test {

inline std::unique_ptr<Method> make_method(const std::string& name,
                                           const std::map<std::string, std::string>& options) {
  std::unique_ptr<Method> method;
  for (const auto& entry : methods())
    if (entry.name == name) method = entry.make();
  Options declared("method");
  method->declare(declared);
  Settings settings;
  for (const auto& [key, value] : options) settings["method." + key] = {value, "test"};
  std::vector<std::string> problems;
  declared.read(settings, problems);
  check_unknown(settings, {&declared}, problems);
  method->validate(problems);
  EXPECT_TRUE(problems.empty()) << problems.front();
  return method;
}

/// `options` with some of them changed or added.
inline std::map<std::string, std::string> with(std::map<std::string, std::string> options,
                                               const std::map<std::string, std::string>& changes) {
  for (const auto& [key, value] : changes) options[key] = value;
  return options;
}

/// What a plan makes of a method's releases.
inline std::vector<Query> queries_of(const Method& method, const PublicFacts& facts, double noise_multiplier,
                                     const BlockLayout& layout = {}) {
  std::vector<Query> all;
  for (auto spec : method.queries(facts, noise_multiplier)) {
    if (layout.records > 0) spec.sampling = stratified(spec.sampling, layout);
    all.push_back(
        Query::declare(spec, static_cast<std::uint32_t>(all.size()), facts.adjacency, facts.data.records));
  }
  return all;
}

/// `count` records that only their numbers tell apart, in `blocks` blocks.
inline Shard numbered_shard(std::size_t count, std::uint32_t blocks = 2) {
  Shard shard;
  shard.facts = {count, 1, Storage::dense_f32};
  shard.layout = BlockLayout::of(shard.facts, blocks);
  for (std::uint32_t b = 0; b < blocks; ++b)
    shard.blocks.push_back({b, shard.layout.begin(b), test::numbered_records(shard.layout.size(b))});
  return shard;
}

struct Trial {
  Communicator comm = Communicator::alone();
  Shard shard;
  std::unique_ptr<Objective> objective;
  std::unique_ptr<Method> method;
  PublicFacts facts;
  std::vector<Query> queries;
  std::uint64_t steps = 0, next = 0;
  std::string name;
  std::map<std::string, std::string> options;
  double multiplier;
  std::optional<Ledger> ledger;
  std::unique_ptr<Curator> curator;

  Trial(std::string method_name, std::map<std::string, std::string> settings, double noise_multiplier,
        std::unique_ptr<Objective> f, Shard records, Adjacency adjacency = Adjacency::replace_one,
        std::uint64_t key = 1)
      : shard(std::move(records)),
        objective(std::move(f)),
        name(std::move(method_name)),
        options(std::move(settings)),
        multiplier(noise_multiplier) {
    facts = {shard.facts, objective.get(), adjacency, multiplier > 0 ? 1 / multiplier : 1};
    plan();
    const std::string path = ::testing::TempDir() + "trial_" + name + ".jsonl";
    std::filesystem::remove(path);
    ledger.emplace(Ledger::create(path, {adjacency, shard.facts.records}));
    curator =
        std::make_unique<Curator>(comm, shard, queries, objective->micro_batch_rows(), SecretKey::from_seed(key));
    curator->record_in(*ledger);
    method->start(*objective, queries, steps);
  }
  /// A method that has not started yet, and its queries.
  void plan() {
    method = make_method(name, options);
    queries = queries_of(*method, facts, multiplier, shard.layout);
    steps = method->steps(facts);
  }
  /// Goes on where another trial of the same settings stands, with a method that knows of it what its archive says.
  void resume(Trial& stopped) {
    run(stopped.next);  // so that the ledger covers the steps
    Archive saved;
    stopped.method->archive(saved);
    start_from(saved.bytes());
    if (next > 0) curator->resume_at(next);
  }
  void start_from(const std::string& saved) {
    plan();
    method->start(*objective, queries, steps);
    Archive restored(saved);
    method->archive(restored);
    restored.finish();
  }
  void run(std::uint64_t count) {
    for (; count > 0; --count) method->step(*curator, next++);
  }
  void run() { run(steps - next); }
  SaddleObjective* saddle() const { return dynamic_cast<SaddleObjective*>(objective.get()); }
  std::vector<float> iterate() const { return {method->iterate().begin(), method->iterate().end()}; }
  double derived(const std::string& symbol) const {
    for (const auto& [key, value] : method->report_quantities(facts, queries))
      if (key == symbol) return std::get<double>(value);
    ADD_FAILURE() << "nothing derived is called " << symbol;
    return 0;
  }
};

}  // namespace dpmpi::test
