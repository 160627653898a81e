// Counts of held-out records: what a record or a person can change, in integers, and the noise on them.
#include "run/held_out/counts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "objective/random_records.hpp"
#include "support/sensitivity_of_sums.hpp"
#include "support/shards.hpp"

namespace dpmpi::held_out_counts_test {
namespace {

constexpr std::size_t count = 60, features = 6;

/// Records with scores of every size: huge, tiny, zero and none.
Records adversarial(LabelKind labels) {
  Records r = test::random_records({Storage::dense_f32, count, features, 1, labels, 4}, 7);
  for (std::size_t i = 0; i < 20; ++i)
    for (std::size_t j = 0; j < features; ++j)
      r.f32[i * r.stride + j] *= std::array{1e20F, 1e-20F, 0.0F, 1e6F}[i % 4];
  for (std::size_t i = 0; i < count; ++i) test::update_norm(r, i);
  return r;
}

struct Counted {
  Counted(const std::string& name, Adjacency adjacency, Unit unit, double z = 2)
      : objective(test::make_objective(
            name, {features, Storage::dense_f32, 1},
            name == "softmax" ? std::vector<std::pair<std::string, std::string>>{{"objective.classes", "4"}}
                              : std::vector<std::pair<std::string, std::string>>{})),
        records(adversarial(objective->label_kind())) {
    if (unit == Unit::person) records.person_begin = {0, 1, 1, 5, 6, 30, 31, 32, 50, 60};
    plan.adjacency = adjacency;
    plan.counted = CountedScores::of(*objective, name);
    plan.layout = {records.units(), 1};
    for (QuerySpec spec : plan.counted.queries(z)) {
      spec.unit = unit;
      plan.queries.push_back(
          Query::declare(spec, static_cast<std::uint32_t>(plan.queries.size()), adjacency, plan.layout.records));
    }
    for (std::size_t j = 0; j < objective->dim(); ++j)
      w.push_back(static_cast<float>(std::sin(static_cast<double>(j + 1))));
  }
  Shard shard() const {
    Shard one;
    one.facts = {records.units(), features, Storage::dense_f32};
    one.layout = plan.layout;
    one.blocks.push_back({0, 0, records});
    return one;
  }
  NoisyCounts release(std::uint64_t key, ReleaseListener* listener = nullptr) {
    const Shard own = shard();
    Ledger ledger = Ledger::in_memory({plan.adjacency, plan.layout.records, true});
    Curator curator(Communicator::alone(), own, plan.queries, objective->micro_batch_rows(),
                    SecretKey::from_seed(key));
    curator.record_in(ledger);
    curator.announce_to(listener);
    NoisyCounts counts = release_counts(curator, plan, *objective, w);
    EXPECT_TRUE(same_events(ledger.events(), plan.events())) << "the ledger has what was planned";
    return counts;
  }

  std::unique_ptr<Objective> objective;
  Records records;
  EvaluationPlan plan;
  std::vector<float> w;
};

TEST(HeldOutCounts, NobodyMovesThemByMoreThanTheirSensitivity) {
  for (const char* name : {"logistic", "softmax", "hinge"})
    for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one})
      for (const Unit unit : {Unit::record, Unit::person}) {
        Counted counted(name, adjacency, unit);
        test::SensitivityOfSums watch(counted.records);
        counted.release(1, &watch);
        ASSERT_EQ(watch.largest.size(), counted.plan.queries.size());
        const double tight = *std::ranges::max_element(watch.share_of_bound);
        EXPECT_GT(tight, 0.99) << name << ": the bound is met";
      }
}

TEST(HeldOutCounts, CountEveryRecordOnce) {
  for (const char* name : {"logistic", "softmax"}) {
    Counted counted(name, Adjacency::add_remove, Unit::record, 0);
    counted.records.label[3] = std::numeric_limits<float>::quiet_NaN();  // an empty slot
    const NoisyCounts counts = counted.release(1);
    EXPECT_EQ(std::accumulate(counts.counts.begin(), counts.counts.end(), 0.0), count - 1);
    const double classes = std::accumulate(counts.classes.begin(), counts.classes.end(), 0.0);
    EXPECT_EQ(classes, counts.classes.empty() ? 0 : count - 1);
    EXPECT_EQ(counts.counts_std, 0);
  }
}

TEST(HeldOutCounts, ArePersonsSharedOutOverTheirRecords) {
  Counted counted("logistic", Adjacency::add_remove, Unit::person, 0);
  const NoisyCounts counts = counted.release(1);
  // Eight persons have records; shares are rounded towards zero.
  EXPECT_NEAR(std::accumulate(counts.counts.begin(), counts.counts.end(), 0.0), 8, 1e-3);
}

TEST(HeldOutCounts, HaveTheNoiseOfThePlan) {
  Counted counted("logistic", Adjacency::add_remove, Unit::record, 3);
  std::ranges::fill(counted.records.label, std::numeric_limits<float>::quiet_NaN());  // nobody is there
  std::vector<double> normal;
  for (std::uint64_t key = 0; key < 60; ++key) {
    const NoisyCounts counts = counted.release(key);
    for (const double value : counts.counts) normal.push_back(value / counts.counts_std);
  }
  EXPECT_NEAR(counted.plan.queries[1].noise_std, 3 / std::sqrt(0.85), 1e-9);
  double mean = 0, square = 0;
  for (const double x : normal) mean += x, square += x * x;
  const auto n = static_cast<double>(normal.size());
  EXPECT_NEAR(mean / n, 0, 4 / std::sqrt(n));
  EXPECT_NEAR(square / n, 1, 4 * std::sqrt(2 / n));
}

TEST(HeldOutCounts, OfTheSameKeyAreTheSame) {
  Counted counted("logistic", Adjacency::add_remove, Unit::record);
  EXPECT_EQ(counted.release(1).counts, counted.release(1).counts);
  EXPECT_NE(counted.release(1).counts, counted.release(2).counts);
}

// Together the releases are one Gaussian mechanism of the multiplier that was calibrated.
TEST(HeldOutCounts, ShareTheBudget) {
  for (const bool signs : {true, false})
    for (const bool logits : {true, false}) {
      CountedScores shape;
      shape.signs = signs, shape.logits = logits, shape.classes = signs ? 2 : 5;
      double precision = 0;
      for (const QuerySpec& query : shape.queries(3))
        precision += 1 / (query.noise_multiplier * query.noise_multiplier);
      EXPECT_NEAR(precision, 1.0 / 9, 1e-12);
    }
}

}  // namespace
}  // namespace dpmpi::held_out_counts_test
