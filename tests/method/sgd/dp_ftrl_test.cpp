// dp-ftrl: the leader's formula, the tree that its plan pays for, and the noise in its iterates.
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curves/strategy.hpp"
#include "problems/trial.hpp"

namespace dpmpi::dp_ftrl_test {
namespace {

using test::Trial;
using Options = std::map<std::string, std::string>;

constexpr test::RecordsShape shape{Storage::dense_f32, 330, 6, 1, LabelKind::sign};

Trial trial(const Options& options, double multiplier, Shard shard) {
  return Trial("dp-ftrl", options, multiplier,
               test::make_objective("logistic", {shape.features, shape.storage, shape.bias}), std::move(shard));
}

// Settings as they are read, with whatever is wrong between them.
std::unique_ptr<MethodSettings> methods_settings(const Options& options) {
  std::unique_ptr<MethodSettings> settings;
  for (const auto& entry : methods())
    if (entry.name == "dp-ftrl") settings = entry.make();
  dpmpi::Options declared("method");
  settings->declare(declared);
  Settings given;
  for (const auto& [key, value] : options) given["method." + key] = {value, "test"};
  std::vector<std::string> problems;
  declared.read(given, problems);
  EXPECT_TRUE(problems.empty());
  return settings;
}

// Nearly without noise, momentum or a restart, x_{t+1} = x_1 - eta / B * (sum of all clipped gradients so far), and
// a step uses a batch of its own.
TEST(DpFtrl, StepsAreGradientStepsOnItsOrder) {
  auto ftrl = trial({{"batch", "330"}, {"passes", "3"}, {"rate", "2"}, {"clip", "0.8"}, {"momentum", "0.5"}}, 1e-9,
                    test::random_shard(shape, 2));
  auto sgd = Trial(
      "dp-sgd",
      {{"sampling", "full"}, {"batch", "330"}, {"steps", "3"}, {"rate", "2"}, {"clip", "0.8"}, {"momentum", "0.5"}},
      0, test::make_objective("logistic", {shape.features, shape.storage, shape.bias}),
      test::random_shard(shape, 2));
  EXPECT_EQ(ftrl.steps, 3u);
  ftrl.run();
  sgd.run();
  for (std::size_t j = 0; j < 7; ++j) EXPECT_NEAR(ftrl.iterate()[j], sgd.iterate()[j], 1e-4);
}

// With empty slots the iterate is noise alone: after t steps of rate 1 it is minus the prefix noise over B, of
// popcount(t) nodes; nodes cancel, so the noise does not grow with t. After a restart it adds to what was there.
TEST(DpFtrl, IteratesCarryPrefixNoise) {
  constexpr std::size_t features = 4000;
  const test::RecordsShape wide{Storage::dense_f32, 80, features, 0, LabelKind::sign};
  Shard shard = test::random_shard(wide, 2);
  for (auto& block : shard.blocks)
    for (std::size_t i = 0; i < block.records.count; ++i) test::remove_record(block.records, i);
  Trial ftrl("dp-ftrl", {{"batch", "5"}, {"restarts", "2"}, {"rate", "1"}, {"clip", "2"}, {"strategy", "fenwick"}},
             3, test::make_objective("logistic", {wide.features, wide.storage, wide.bias}), std::move(shard));
  ASSERT_EQ(ftrl.steps, 16u);
  const double node = ftrl.queries[0].noise_std / 5;
  EXPECT_GE(ftrl.queries[0].noise_std, 3 * 2 * 2) << "multiplier, two clips under replace_one";
  for (unsigned t = 1; t <= 16; ++t) {
    ftrl.run(1);
    double square = 0;
    for (const float v : ftrl.iterate()) square += std::pow(v / node, 2) / features;
    const double nodes = t <= 8 ? std::popcount(t) : 1 + std::popcount(t - 8);
    EXPECT_NEAR(square, nodes, 5 * nodes * std::sqrt(2.0 / features)) << t;
  }
}

// Steps share noise, so that none of it can be taken out of a second moment.
TEST(DpFtrl, HasNoAdamWithoutItsNoise) {
  auto given = trial({{"batch", "66"}, {"optimizer", "adam"}}, 1, test::random_shard(shape, 2));
  given.run();
  EXPECT_THROW(trial({{"batch", "66"}, {"optimizer", "adam_bc"}}, 1, test::random_shard(shape, 2)), ConfigError);
}

TEST(DpFtrl, APassIsOneTree) {
  auto one = trial({{"batch", "10"}, {"passes", "2"}, {"restarts", "3"}, {"strategy", "full_honaker"}}, 4,
                   test::random_shard(shape, 2));
  EXPECT_EQ(one.steps, 66u);
  one.run();
  const Tree tree{Strategy::full_honaker, 11, 4};
  EXPECT_EQ(one.ledger->events(), (std::vector<Event>{{tree, 2}}));
  EXPECT_NEAR(one.derived("mu"), std::sqrt(2.0) * tree_mu(tree), 1e-12);
  EXPECT_THROW(trial({{"batch", "331"}}, 1, test::random_shard(shape, 2)), ConfigError);
}

TEST(DpFtrl, SeveralPassesCanBeOneTree) {
  auto one = trial({{"batch", "10"}, {"passes", "3"}, {"strategy", "blt"}, {"participation", "continue"}}, 4,
                   test::random_shard(shape, 2));
  EXPECT_EQ(one.steps, 99u);
  one.run();
  const auto events = one.ledger->events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].count, 1u);
  const auto& tree = std::get<Tree>(events[0].mechanism);
  EXPECT_EQ(tree.leaves, 99u);
  EXPECT_EQ(tree.participations, 3u);
  EXPECT_EQ(tree.separation, 33u);
  EXPECT_GE(tree.buffers.count, 1u);
  EXPECT_NEAR(one.derived("mu"), tree_mu(tree), 1e-12);
  for (const auto& wrong : {Options{{"strategy", "fenwick"}}, Options{{"strategy", "blt"}, {"restarts", "2"}}}) {
    Options options{{"batch", "10"}, {"passes", "3"}, {"participation", "continue"}};
    options.insert(wrong.begin(), wrong.end());
    EXPECT_THROW(trial(options, 4, test::random_shard(shape, 2)), ConfigError);
  }
}

// Nearly without noise a tree that continues makes the steps of trees that restart: in every pass the same batches.
TEST(DpFtrl, ContinuingChangesNothingButTheNoise) {
  const Options same{{"batch", "10"}, {"passes", "2"}, {"strategy", "identity"}};
  Options continued = same;
  continued["participation"] = "continue";
  const auto end = [](const Options& options) {
    auto run = trial(options, 1e-9, test::random_shard(shape, 2));
    run.run();
    const auto x = run.iterate();
    return std::vector<double>(x.begin(), x.end());
  };
  const auto restarted = end(same), went_on = end(continued);
  for (std::size_t j = 0; j < 7; ++j) EXPECT_NEAR(restarted[j], went_on[j], 1e-4);
}

const Options amplified{{"sampling", "cyclic_poisson"},
                        {"strategy", "banded_blt"},
                        {"groups", "4"},
                        {"batch", "33"},
                        {"passes", "3"},
                        {"rate", "1"}};

// All steps are one event, whose parameters the plan names.
TEST(DpFtrl, CyclicSamplesAreOneEvent) {
  auto run = trial(amplified, 4, test::random_shard(shape, 3));
  EXPECT_EQ(run.steps, 30u);
  EXPECT_EQ(run.derived("groups"), 4);
  EXPECT_EQ(run.derived("band"), 4);
  EXPECT_DOUBLE_EQ(run.derived("q"), 0.4);
  run.run();
  const auto events = run.ledger->events();
  EXPECT_EQ(events, run.queries[0].events(0, 30));
  ASSERT_EQ(events.size(), 1u);
  const auto& event = std::get<CyclicPoissonGaussian>(events[0].mechanism);
  EXPECT_EQ(event.steps, 30u);
  EXPECT_EQ(event.rounds(), 8u);
  EXPECT_DOUBLE_EQ(event.sampling_rate, 0.4);
  EXPECT_LT(event.noise_multiplier, 4) << "over the longest column";
}

// One group that is drawn whole, nearly without noise: steps on all records. Trap: a mean over the records that
// were drawn, or over the group, in place of the public batch.
TEST(DpFtrl, CyclicSamplesAreDividedByTheExpectedBatch) {
  auto ftrl = trial(test::with(amplified, {{"groups", "1"}, {"strategy", "banded"}, {"batch", "330"}}), 1e-9,
                    test::random_shard(shape, 2));
  auto sgd = Trial("dp-sgd", {{"sampling", "full"}, {"batch", "330"}, {"steps", "3"}, {"rate", "1"}}, 0,
                   test::make_objective("logistic", {shape.features, shape.storage, shape.bias}),
                   test::random_shard(shape, 2));
  EXPECT_EQ(ftrl.steps, 3u);
  ftrl.run();
  sgd.run();
  for (std::size_t j = 0; j < 7; ++j) EXPECT_NEAR(ftrl.iterate()[j], sgd.iterate()[j], 1e-4);
}

TEST(DpFtrl, RefusesCyclicSamplesWithoutABandOrAPromise) {
  for (const auto& wrong : {Options{{"strategy", "full_honaker"}}, Options{{"strategy", "blt"}},
                            Options{{"groups", "11"}}, Options{{"groups", "0"}}, Options{{"batch", "331"}},
                            Options{{"groups", "10"}, {"passes", "1"}, {"batch", "34"}}})
    EXPECT_THROW(trial(test::with(amplified, wrong), 4, test::random_shard(shape, 2)), ConfigError);
  EXPECT_THROW(trial({{"strategy", "banded_blt"}, {"batch", "33"}}, 4, test::random_shard(shape, 2)), ConfigError);
  const auto problems = [](const Options& options) {
    const auto settings = methods_settings(options);
    std::vector<std::string> found;
    settings->validate(found);
    return found.size();
  };
  EXPECT_EQ(problems(amplified), 0u);
  EXPECT_EQ(problems(test::with(amplified, {{"restarts", "2"}})), 1u);
  EXPECT_EQ(problems(test::with(amplified, {{"clip_quantile", "0.5"}})), 1u);
  EXPECT_EQ(problems({{"groups", "2"}}), 1u);
}

}  // namespace
}  // namespace dpmpi::dp_ftrl_test
