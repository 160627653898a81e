// The attacker of audits: its likelihood ratios are those of the releases, for every sampling rule and every kind
// of noise; and the driver's games.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/audit.hpp"
#include "core/errors.hpp"
#include "data/records/builder.hpp"
#include "run/audit/audit.hpp"
#include "run/audit/records.hpp"
#include "support/shards.hpp"

namespace dpmpi::audit_test {
namespace {

constexpr std::size_t dim = 3;
constexpr std::uint64_t records = 8;

/// Runs of a query on no record, and on one at position 0 that adds (clip, 0, 0), or a person of as many as `slots`
/// from there on, and what the attacker makes of them. Of adaptive running sums the clip changes from leaf to leaf.
class Watched {
 public:
  explicit Watched(QuerySpec spec, std::uint32_t slots) {
    spec.dim = dim, spec.bound = {1};
    facts_ = {records, dim, Storage::dense_f32};
    layout_ = BlockLayout::of(facts_, 1);
    query_ = Query::declare(spec, 0, Adjacency::add_remove, records);
    RecordsBuilder builder(Storage::dense_f32, dim, 1, {.bias = 0});
    builder.dense_row()[0] = 1, builder.finish_row(0);
    suspect_ = builder.take();
    const RowSource one{&suspect_, 0};
    for (const bool second : {false, true})
      shards_[second] = shard_of(Communicator::alone(), {.features = dim, .bias = 0}, facts_, layout_,
                                 [&](std::uint64_t i) { return second && i < slots ? one : RowSource{}; });
    objective_ = test::make_objective("mean", {dim, Storage::dense_f32, 0});
    attacker_ = std::make_unique<Attacker>(*objective_, suspect_, std::vector<std::uint64_t>{0}, layout_, slots);
  }

  const Query& query() const { return query_; }
  double likelihood(bool second, std::uint64_t key) {
    Ledger ledger = Ledger::in_memory({Adjacency::add_remove, records, true});
    Curator curator(comm_, shards_[second], {query_}, 128, SecretKey::from_seed(key));
    curator.record_in(ledger);
    curator.announce_to(attacker_.get());
    attacker_->begin({});
    const Kernel vectors = [](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
      for (const std::uint32_t i : rows.index) {
        if (std::isnan(rows.records.label[i])) continue;
        const double value = bound.clip * static_cast<double>(rows.records.row_f32(i)[0]);
        sum.begin(1);
        sum.add(0, std::span(&value, 1));
      }
    };
    const auto* running = query_.as<RunningSum>();
    for (std::uint64_t t = 0; t < query_.steps; ++t) {
      constexpr double scales[] = {0.1, 0.2, 0.3, 0.25};
      const double scale = running && running->adaptive ? scales[t % 4] : 1;
      auto total = curator.sum(query_, curator.draw(query_, t), vectors, scale);
      if (query_.exact)
        curator.release_exact(std::move(total));
      else
        curator.release(std::move(total));
    }
    attacker_->end({});
    return attacker_->transcript().likelihood;
  }

 private:
  Communicator comm_ = Communicator::alone();
  DatasetFacts facts_;
  BlockLayout layout_;
  Query query_;
  Records suspect_;
  Shard shards_[2];
  std::unique_ptr<Objective> objective_;
  std::unique_ptr<Attacker> attacker_;
};

// A likelihood ratio has mean 1 where nobody takes part, and where somebody does its logarithm has a positive mean:
// mu^2 / 2 for Gaussians that are mu apart.
void expect_likelihood_ratio(const QuerySpec& spec, double mu = 0, std::uint32_t slots = 1) {
  constexpr int runs = 600;
  Watched watched(spec, slots);
  double mean = 0, square = 0, with = 0;
  for (int run = 0; run < runs; ++run) {
    const double ratio = std::exp(watched.likelihood(false, static_cast<std::uint64_t>(run)));
    mean += ratio / runs, square += ratio * ratio / runs;
    with += watched.likelihood(true, static_cast<std::uint64_t>(run + runs)) / runs;
  }
  const double error = std::sqrt((square - mean * mean) / runs);
  EXPECT_NEAR(mean, 1, 4 * error + 1e-3) << describe(spec.sampling);
  EXPECT_LT(error, 0.1) << "or the test says nothing";
  EXPECT_GT(with, 0.05) << describe(spec.sampling);
  if (mu > 0) {
    EXPECT_NEAR(with, mu * mu / 2, 4 * mu / std::sqrt(runs) + 1e-3) << describe(spec.sampling);
  }
}

TEST(Audit, LikelihoodRatiosOfSampledSums) {
  expect_likelihood_ratio({.name = "sum", .sampling = FullBatch{}, .noise_multiplier = 2, .steps = 3},
                          std::sqrt(3.0) / 2);
  expect_likelihood_ratio(
      {.name = "sum", .sampling = FullBatch{}, .noise_multiplier = 1, .steps = 1, .kind = ExactSum{}}, 1);
  expect_likelihood_ratio({.name = "sum", .sampling = Poisson{0.5}, .noise_multiplier = 1, .steps = 3});
  expect_likelihood_ratio({.name = "sum", .sampling = Cyclic{2}, .noise_multiplier = 1.5, .steps = 4},
                          std::sqrt(2.0) / 1.5);
  expect_likelihood_ratio(
      {.name = "sum", .sampling = Disjoint{{{4, 2, 1}, {4, 2, 1}}}, .noise_multiplier = 1, .steps = 4}, 1);
}

// How many of a person's records are drawn is secret, which of them a public rule takes is not.
TEST(Audit, LikelihoodRatiosOfSeveralRecords) {
  const auto sum = [](SamplingRule sampling, double noise, std::uint64_t steps, double mu) {
    expect_likelihood_ratio({.name = "sum", .sampling = sampling, .noise_multiplier = noise, .steps = steps}, mu,
                            3);
  };
  sum(Poisson{0.5}, 3, 2, 0);
  sum(FullBatch{}, 6, 3, 3 * std::sqrt(3.0) / 6);
  sum(Cyclic{2}, 3, 2, std::sqrt(5.0) / 3);
}

// Of running sums the noise of what is released is correlated; a record is in one leaf.
TEST(Audit, LikelihoodRatiosOfRunningSums) {
  const Shuffled rule{.seed = 1, .first = 2, .batch = 2, .leaves = 4};
  for (const Strategy strategy : {Strategy::fenwick, Strategy::full, Strategy::sqrt_toeplitz, Strategy::banded}) {
    RunningSum running{.strategy = strategy, .band = strategy == Strategy::banded ? 2U : 0U};
    for (const bool adaptive : {false, true}) {
      running.adaptive = adaptive;
      expect_likelihood_ratio(
          {.name = "sum", .sampling = rule, .noise_multiplier = 2, .steps = 4, .kind = running});
    }
  }
}

// A canary with copies is a person of so many equal records, an absent one a person of none, others have one.
TEST(Audit, CanariesArePersons) {
  RecordsBuilder builder(Storage::dense_f32, dim, 2, {.bias = 0});
  for (const float label : {1.0F, 2.0F}) builder.dense_row()[0] = label, builder.finish_row(label);
  const Records canaries = builder.take();
  const RecordShape shape{.features = dim, .bias = 0};
  const DatasetFacts facts{4, dim, Storage::dense_f32};
  const BlockLayout layout = BlockLayout::of(facts, 1);
  const Shard whole = shard_of(Communicator::alone(), shape, facts, layout, [&](std::uint64_t i) -> RowSource {
    if (i == 2) return {};
    return {&canaries, i == 1 ? 1U : 0U, i == 1 ? 3U : 1U};
  });
  const Records& all = whole.blocks.at(0).records;
  EXPECT_EQ(all.person_begin, (std::vector<std::uint32_t>{0, 1, 4, 4, 5}));
  EXPECT_EQ(all.label, (std::vector<float>{1, 2, 2, 2, 1}));
  const RowSource present{&canaries, 0, 5}, absent{nullptr, 0, 5};
  const auto alone = [&](const RowSource& row) {
    return compact_shard(Communicator::alone(), shape, facts, layout, 3, {&row, 1}).blocks.at(0).records;
  };
  EXPECT_EQ(alone(present).person_begin, (std::vector<std::uint32_t>{0, 5}));
  EXPECT_EQ(alone(absent).person_begin, (std::vector<std::uint32_t>{0, 0}));
}

Transcript transcript(double likelihood) {
  Transcript t;
  t.likelihood = likelihood;
  return t;
}

// Half of the runs prove; a test that the other half favours by chance proves nothing.
TEST(Audit, ChoosesAndProvesByDifferentRuns) {
  std::vector<Transcript> first, second;
  for (int i = 0; i < 400; ++i) {
    first.push_back(transcript(i < 200 ? 0 : i % 2));
    second.push_back(transcript(i < 200 ? 1 : i % 2));
  }
  EXPECT_EQ(prove(first, second, 1e-5, 0.05).epsilon, 0);
  for (int i = 200; i < 400; ++i) first[static_cast<std::size_t>(i)].likelihood = 0;
  for (int i = 200; i < 400; ++i) second[static_cast<std::size_t>(i)].likelihood = 1;
  EXPECT_GT(prove(first, second, 1e-5, 0.05).epsilon, 3);
}

TEST(Audit, RunsAreDealtInOrder) {
  const Communicator alone = Communicator::alone();
  const Groups groups(alone, 1);
  std::vector<std::uint64_t> keys;
  const Transcripts all = run_games(groups,
                                    [&](const Communicator&, bool second, std::uint64_t key) {
                                      keys.push_back(key);
                                      return transcript(second ? 1 : 0);
                                    },
                                    {5, 3});
  EXPECT_EQ(all.first.size(), 3);
  EXPECT_EQ(all.second.size(), 2);
  for (const auto& t : all.second) EXPECT_EQ(t.likelihood, 1);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end()) << "every run has noise of its own";
  EXPECT_THROW(Groups(alone, 2), ConfigError);
}

TEST(Audit, ExitsWith4AboveThePromise) {
  AuditReport report{.method = "dp-sgd", .epsilon = 1, .delta = 1e-5, .confidence = 0.95};
  report.games.push_back({.game = "distinguish", .runs = 10, .bound = 0.5});
  EXPECT_EQ(print_audit(report, false), 0);
  report.games.push_back({.game = "one_run", .runs = 1, .bound = 1.5, .holds = false});
  EXPECT_EQ(report.bound(), 1.5);
  EXPECT_EQ(print_audit(report, false), 4);
  EXPECT_EQ(print_audit(report, true), 4);
}

}  // namespace
}  // namespace dpmpi::audit_test
