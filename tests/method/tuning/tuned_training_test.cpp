// Settings that are chosen in private: what stands in the ledger, how much noise a score has, how far one record
// moves it, in integers, and which candidates are refused.
#include "method/tuning/tuned_training.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "problems/trial.hpp"
#include "support/kolmogorov.hpp"

namespace dpmpi::tuned_training_test {
namespace {

using Values = std::map<std::string, std::string>;
using test::numbered_shard;

TuningCandidate candidate(const std::string& method, const Values& values) {
  TuningCandidate made{{}, test::make_settings(method, values)};
  for (const auto& [key, value] : values) made.settings.push_back(fmt::format("method.{}={}", key, value));
  return made;
}

/// One point, wherever: a training that says nothing of records.
TuningCandidate one_point(const std::string& low = "0") {
  return candidate("random-search", {{"candidates", "1"}, {"block", "1"}, {"box_lo", low}, {"box_hi", low + ".5"}});
}

TuningOptions law(double gamma, double clip = 1) {
  TuningOptions options;
  options.search = "method.box_lo=0";
  options.law.gamma = gamma, options.clip = clip;
  return options;
}

struct Tuning {
  Shard shard;
  std::unique_ptr<Objective> objective;
  PublicFacts facts;
  std::unique_ptr<const MethodPlan> plan;
  std::vector<Query> queries;
  Communicator comm = Communicator::alone();
  std::unique_ptr<Algorithm> algorithm;
  std::optional<Ledger> ledger;
  std::unique_ptr<Curator> curator;

  Tuning(const TuningOptions& options, std::vector<TuningCandidate> candidates, test::BlackBox::Loss loss,
         std::uint64_t key = 1, Adjacency adjacency = Adjacency::add_remove, Shard records = numbered_shard(40),
         double noise_multiplier = 2)
      : shard(std::move(records)), objective(std::make_unique<test::BlackBox>(1, std::move(loss))) {
    facts = {shard.facts, objective.get(), adjacency};
    plan = TunedTraining(options, std::move(candidates)).plan(facts);
    queries = test::queries_of(*plan, facts, noise_multiplier, shard.layout);
    algorithm = plan->start(*objective, queries);
    ledger.emplace(Ledger::in_memory({adjacency, shard.facts.records}));
    curator =
        std::make_unique<Curator>(comm, shard, queries, objective->micro_batch_rows(), SecretKey::from_seed(key));
    curator->record_in(*ledger);
  }
  double run() {
    algorithm->step(*curator, 0);
    return algorithm->measures().empty() ? 0 : algorithm->measures().front().value;
  }
};

double flat(std::size_t, std::span<const double>) { return 0.25; }

TEST(TunedTraining, LedgerHasOneEventWithTheTrainingAndItsScore) {
  TuningOptions options = law(0.2);
  options.share = 0.2;
  const auto search = [](const char* low) {
    return candidate("random-search", {{"candidates", "6"}, {"block", "2"}, {"box_lo", low}});
  };
  Tuning tuning(options, {search("-1"), search("-0.5")}, flat);
  const double z = 2 * std::sqrt(3.0);
  EXPECT_EQ(tuning.plan->steps, 1u);
  ASSERT_EQ(tuning.queries.size(), 1u);
  EXPECT_NEAR(tuning.queries[0].noise_multiplier, 2 * 2, 1e-12)
      << "the training is 1/2-GDP, so 1/4-GDP is a fifth of both";
  const std::vector<Event> expected{
      {RepeatAndSelect{{.gamma = 0.2}, {{Gaussian{z}, 3}, {Gaussian{tuning.queries[0].noise_multiplier}, 1}}}, 1}};
  EXPECT_EQ(tuning.queries[0].events(0, 1), expected);
  tuning.run();
  EXPECT_EQ(tuning.ledger->events(), expected);
  EXPECT_THROW(tuning.run(), PrivacyError) << "a step that was done is not done again";
}

// The smallest of K scores has the distribution 1 - f(1 - Phi).
TEST(TunedTraining, ScoresHaveTheNoiseThatThePlanSays) {
  constexpr double gamma = 0.3;
  std::vector<double> uniform;
  for (std::uint64_t key = 1; key <= 1000; ++key) {
    Tuning tuning(law(gamma), {one_point()}, flat, key);
    const double noise = (tuning.run() - 0.25) * 40 / tuning.queries[0].noise_std;
    const double above = std::erfc(noise / std::sqrt(2.0)) / 2;
    uniform.push_back(gamma * above / (1 - (1 - gamma) * above));
  }
  std::sort(uniform.begin(), uniform.end());
  double distance = 0;
  for (std::size_t i = 0; i < uniform.size(); ++i)
    distance = std::max(distance, std::abs(uniform[i] - (static_cast<double>(i) + 0.5) / 1000));
  EXPECT_GT(test::kolmogorov(std::sqrt(1000.0) * distance), 1e-3);
}

// Exact sensitivity, in integers: with the same noise two scores differ by what one record moved, and as far as it.
TEST(TunedTraining, ARecordMovesAScoreByAtMostTheSensitivity) {
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    std::int64_t largest = 0, allowed = 0;
    for (const auto& [one, other] : {std::pair{0.0, 1e300}, {-1e300, 0.6}, {INFINITY, 0.0}, {NAN, 0.2}}) {
      std::vector<std::int64_t> sums;
      for (const bool neighbour : {false, true}) {
        const double loss = neighbour ? other : one;
        Shard records = numbered_shard(40, 1);  // records are known by their numbers in a block
        if (neighbour && adjacency == Adjacency::add_remove) test::remove_record(records.blocks[0].records, 7);
        Tuning tuning(
            law(0.999999, 0.7), {one_point()},
            [&](std::size_t record, std::span<const double>) { return record == 7 ? loss : 0.3; }, 3, adjacency,
            std::move(records));
        const double sum = (tuning.run() - 0.35) * 40;
        sums.push_back(std::llround(sum * tuning.queries[0].lattice.scale()));
        allowed = static_cast<std::int64_t>(
            std::floor(tuning.queries[0].sensitivity * tuning.queries[0].lattice.scale()));
      }
      EXPECT_LE(std::abs(sums[0] - sums[1]), allowed) << one << " " << other;
      largest = std::max(largest, std::abs(sums[0] - sums[1]));
    }
    EXPECT_GT(static_cast<double>(largest), 0.999 * static_cast<double>(allowed)) << name(adjacency);
  }
}

// The loss decides, and what is said to be chosen is what the model was trained with.
TEST(TunedTraining, ReleasesTheModelOfTheBestCandidate) {
  const auto distance = [](std::size_t, std::span<const double> w) { return w[0] / 10; };
  int best = 0;
  for (std::uint64_t key = 1; key <= 40; ++key) {
    Tuning tuning(law(0.05), {one_point("8"), one_point("1"), one_point("5")}, distance, key, Adjacency::add_remove,
                  numbered_shard(4000));
    const double score = tuning.run();
    const double w = tuning.algorithm->iterate()[0];
    EXPECT_NEAR(score, w / 10, 0.01);
    const auto chosen = tuning.algorithm->chosen();
    EXPECT_EQ(std::ranges::count(chosen, fmt::format("method.box_lo={}", std::floor(w))), 1);
    best += std::floor(w) == 1 ? 1 : 0;
  }
  EXPECT_GT(best, 30) << "of twenty trainings on average";
}

// Nothing of the records is released where there was no training.
TEST(TunedTraining, PoissonMayReleaseTheStartPoint) {
  TuningOptions options = law(0.5);
  options.law.distribution = Repetitions::poisson, options.law.mean = 0.7;
  int none = 0;
  for (std::uint64_t key = 1; key <= 60; ++key) {
    Tuning tuning(options, {one_point("3")}, flat, key);
    tuning.run();
    const bool start = tuning.algorithm->chosen().empty();
    EXPECT_EQ(start, tuning.algorithm->measures().empty());
    none += start ? 1 : 0;
  }
  EXPECT_NEAR(none, 60 * std::exp(-0.7), 15);
}

TEST(TunedTraining, GoesOnFromItsArchive) {
  Tuning tuning(law(0.3), {one_point("2"), one_point("4")}, flat, 5);
  const double score = tuning.run();
  Archive saved;
  tuning.algorithm->archive(saved);
  Tuning again(law(0.3), {one_point("2"), one_point("4")}, flat, 5);
  Archive restored(saved.bytes());
  again.algorithm->archive(restored);
  restored.finish();
  EXPECT_EQ(again.algorithm->measures().front().value, score);
  EXPECT_EQ(again.algorithm->chosen(), tuning.algorithm->chosen());
  EXPECT_EQ(again.algorithm->iterate()[0], tuning.algorithm->iterate()[0]);
}

template <class Refusal>
std::string refusal(const std::function<void()>& planning) {
  try {
    planning();
  } catch (const Refusal& e) {
    return e.what();
  }
  return "no refusal";
}

TEST(TunedTraining, RefusesCandidatesOfAnotherPrice) {
  const auto search = [](const char* count) {
    return candidate("random-search", {{"candidates", count}, {"block", "1"}});
  };
  const auto text = refusal<ConfigError>([&] { Tuning(law(0.3), {search("4"), search("5")}, flat); });
  EXPECT_NE(text.find("a training with method.block=1 method.candidates=5 spends another part of the budget than "
                      "a training with method.block=1 method.candidates=4"),
            text.npos)
      << text;
}

TEST(TunedTraining, RefusesWhatSelectsItself) {
  const auto text = refusal<ConfigError>([] { Tuning(law(0.3), {candidate("random-stopping", {})}, flat); });
  EXPECT_NE(text.find("itself the best of secretly many runs"), text.npos) << text;
}

TEST(TunedTraining, RefusalsOfACandidateNameIt) {
  const auto text = refusal<ConfigError>([] { Tuning(law(0.3), {one_point(), candidate("dp-sgd", {})}, flat); });
  EXPECT_NE(text.find("tune.search: a training with "), text.npos) << text;
}

}  // namespace
}  // namespace dpmpi::tuned_training_test
