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

inline std::unique_ptr<MethodSettings> make_settings(const std::string& name,
                                                     const std::map<std::string, std::string>& options) {
  std::unique_ptr<MethodSettings> settings;
  for (const auto& entry : methods())
    if (entry.name == name) settings = entry.make();
  Options declared("method");
  settings->declare(declared);
  dpmpi::Settings given;
  for (const auto& [key, value] : options) given["method." + key] = {value, "test"};
  std::vector<std::string> problems;
  declared.read(given, problems);
  check_unknown(given, {&declared}, problems);
  settings->validate(problems);
  EXPECT_TRUE(problems.empty()) << problems.front();
  return settings;
}

/// `options` with some of them changed or added.
inline std::map<std::string, std::string> with(std::map<std::string, std::string> options,
                                               const std::map<std::string, std::string>& changes) {
  for (const auto& [key, value] : changes) options[key] = value;
  return options;
}

/// A plan's releases, declared.
inline std::vector<Query> queries_of(const MethodPlan& plan, const PublicFacts& facts, double noise_multiplier,
                                     const BlockLayout& layout = {}) {
  std::vector<Query> all;
  for (auto spec : plan.queries(noise_multiplier)) {
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
  PublicFacts facts;
  std::unique_ptr<MethodSettings> settings;
  std::unique_ptr<const MethodPlan> plan;
  std::unique_ptr<Algorithm> algorithm;
  std::vector<Query> queries;
  std::uint64_t steps = 0, next = 0;
  std::string name;
  std::map<std::string, std::string> options;
  double multiplier;
  std::optional<Ledger> ledger;
  std::unique_ptr<Curator> curator;

  Trial(std::string method_name, std::map<std::string, std::string> given, double noise_multiplier,
        std::unique_ptr<Objective> f, Shard records, Adjacency adjacency = Adjacency::replace_one,
        std::uint64_t key = 1)
      : shard(std::move(records)),
        objective(std::move(f)),
        name(std::move(method_name)),
        options(std::move(given)),
        multiplier(noise_multiplier) {
    facts = {shard.facts, objective.get(), adjacency, multiplier > 0 ? 1 / multiplier : 1};
    begin();
    const std::string path = ::testing::TempDir() + "trial_" + name + ".jsonl";
    std::filesystem::remove(path);
    ledger.emplace(Ledger::create(path, {adjacency, shard.facts.records}));
    curator =
        std::make_unique<Curator>(comm, shard, queries, objective->micro_batch_rows(), SecretKey::from_seed(key));
    curator->record_in(*ledger);
  }
  /// A new plan, and its run at the start point.
  void begin() {
    settings = make_settings(name, options);
    plan = settings->plan(facts);
    queries = queries_of(*plan, facts, multiplier, shard.layout);
    steps = plan->steps;
    algorithm = plan->start(*objective, queries);
  }
  /// Goes on where another trial of the same settings stands, and knows of it what its archive says.
  void resume(Trial& stopped) {
    run(stopped.next);  // so that the ledger covers the steps
    Archive saved;
    stopped.algorithm->archive(saved);
    start_from(saved.bytes());
    if (next > 0) curator->resume_at(next);
  }
  void start_from(const std::string& saved) {
    begin();
    Archive restored(saved);
    algorithm->archive(restored);
    restored.finish();
  }
  void run(std::uint64_t count) {
    for (; count > 0; --count) algorithm->step(*curator, next++);
  }
  void run() { run(steps - next); }
  SaddleObjective* saddle() const { return objective->saddle(); }
  std::vector<float> iterate() const {
    const auto x = algorithm->iterate();
    return {x.begin(), x.end()};
  }
  double derived(const std::string& symbol) const {
    for (const auto& [key, value] : plan->report_quantities(queries))
      if (key == symbol) return std::get<double>(value);
    ADD_FAILURE() << "nothing derived is called " << symbol;
    return 0;
  }
};

}  // namespace dpmpi::test
