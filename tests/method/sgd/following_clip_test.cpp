// The clip that follows the norms: where it goes, what a step is then, and what is refused.
#include "method/sgd/following_clip.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "problems/trial.hpp"
#include "support/allocations.hpp"

namespace dpmpi::following_clip_test {
namespace {

using test::Trial;
using Options = std::map<std::string, std::string>;

constexpr test::RecordsShape shape{Storage::dense_f32, 300, 6, 1, LabelKind::sign};

std::unique_ptr<Objective> logistic() {
  return test::make_objective("logistic", {shape.features, shape.storage, shape.bias});
}
Trial trial(const char* method, const Options& options, double multiplier,
            Shard shard = test::random_shard(shape, 2)) {
  return Trial(method, options, multiplier, logistic(), std::move(shard), Adjacency::add_remove);
}
Shard empty_shard() {
  Shard shard = test::random_shard(shape, 2);
  for (auto& block : shard.blocks)
    for (std::size_t i = 0; i < block.records.count; ++i) test::remove_record(block.records, i);
  return shard;
}
double measure(const Trial& of, const std::string& name) {
  for (const Measure& m : of.algorithm->measures())
    if (m.name == name) return m.value;
  ADD_FAILURE() << "no measure " << name;
  return 0;
}

// From far above and far below, with batches of a secret size and noise, the clip comes to where the quantile is.
TEST(FollowingClip, ComesToTheQuantile) {
  for (const char* method : {"dp-sgd", "dp-ftrl"})
    for (const char* start : {"30", "0.03"})
      for (const double quantile : {0.3, 0.8}) {
        Options options{{"clip", start},
                        {"clip_quantile", std::to_string(quantile)},
                        {"rate", "1e-6"},
                        {"batch", "150"},
                        {"clip_share", "0.1"}};
        const bool sgd = std::string(method) == "dp-sgd";
        options[sgd ? "steps" : "passes"] = sgd ? "150" : "75";
        Trial run = trial(method, options, 0.5);
        run.run();
        std::vector<double> norms;  // at the start point 0, where the slope is 1/2
        for (const auto& block : run.shard.blocks)
          for (std::size_t i = 0; i < block.records.count; ++i)
            norms.push_back(0.5 * static_cast<double>(block.records.norm[i]));
        const double clip = measure(run, "clip");
        const auto within = std::ranges::count_if(norms, [&](double norm) { return norm <= clip; });
        EXPECT_NEAR(static_cast<double>(within) / 300, quantile, 0.12) << method << " from " << start;
      }
}

// Full batches without noise: every step and clip again from the records, in double.
TEST(FollowingClip, StepsAreInUnitsOfTheClip) {
  for (const std::string method : {"dp-sgd", "dp-ftrl"}) {
    Options options{
        {"batch", "300"}, {"clip", "0.6"}, {"rate", "0.2"}, {"clip_quantile", "0.5"}, {"clip_rate", "0.5"}};
    options[method == "dp-sgd" ? "steps" : "passes"] = "6";
    if (method == "dp-sgd") options["sampling"] = "full";
    Trial run = trial(method.c_str(), options, 0);
    run.objective->l2 = 0.01;
    std::vector<double> x(7, 0.0);
    double clip = 0.6;
    for (std::uint64_t t = 0; t < 6; ++t) {
      std::vector<double> sum(7, 0.0);
      int within = 0;
      for (const auto& block : run.shard.blocks)
        for (std::size_t i = 0; i < block.records.count; ++i) {
          double margin = x[6], norm = 1;
          for (std::size_t j = 0; j < 6; ++j)
            margin += x[j] * block.records.row_f32(i)[j], norm += std::pow(block.records.row_f32(i)[j], 2);
          const double y = block.records.label[i], slope = -y / (1 + std::exp(y * margin));
          const double length = std::abs(slope) * std::sqrt(norm);
          within += length <= clip;
          for (std::size_t j = 0; j < 7; ++j)
            sum[j] += std::min(1.0, clip / length) * slope * (j < 6 ? block.records.row_f32(i)[j] : 1.0);
        }
      for (std::size_t j = 0; j < 7; ++j) x[j] -= 0.2 / clip * (sum[j] / 300 + (j < 6 ? 0.01 * x[j] : 0));
      clip *= std::exp(0.5 * (0.5 - within / 300.0));
      run.run(1);
      for (std::size_t j = 0; j < 7; ++j) EXPECT_NEAR(run.iterate()[j], x[j], 4e-4) << method << " step " << t;
      EXPECT_NEAR(measure(run, "clip"), clip, 3e-3 * clip) << method << " step " << t;
      EXPECT_NEAR(measure(run, "clip_within"), within / 300.0, 1e-3) << method;
    }
  }
}

// Noise alone, of steps whose clips differ: z / (B sqrt(1 - share)) in a coordinate of a step of rate 1, at any
// clip.
TEST(FollowingClip, TheNoiseOfAStepDoesNotDependOnTheClip) {
  constexpr int steps = 400;
  Trial run = trial("dp-sgd",
                    {{"batch", "60"},
                     {"steps", "400"},
                     {"clip", "7"},
                     {"rate", "1"},
                     {"clip_quantile", "0.9"},
                     {"clip_share", "0.19"}},
                    3, empty_shard());
  double square = 0, lowest = 1e9, highest = 0;
  std::vector<float> before = run.iterate();
  for (int t = 0; t < steps; ++t) {
    run.run(1);
    for (std::size_t j = 0; j < 7; ++j)
      square += std::pow((run.iterate()[j] - before[j]) / (3 / (60 * std::sqrt(0.81))), 2);
    before = run.iterate();
    lowest = std::min(lowest, measure(run, "clip")), highest = std::max(highest, measure(run, "clip"));
  }
  EXPECT_NEAR(square / (7 * steps), 1, 5 * std::sqrt(2.0 / (7 * steps)));
  EXPECT_GT(highest / lowest, 3) << "the clip must have moved";
}

// Empty slots do not vote, so that the share is 1/2 but for noise, and the clip goes all the way to an end of its
// range and stays there.
TEST(FollowingClip, StaysInItsRange) {
  for (const char* method : {"dp-sgd", "dp-ftrl"})
    for (const auto& [quantile, end] : {std::pair{"0.99", 8.0}, {"0.01", 0.5}}) {
      Options options{{"batch", "60"},     {"clip", "2"},     {"rate", "1"}, {"clip_quantile", quantile},
                      {"clip_range", "4"}, {"clip_rate", "1"}};
      options[std::string(method) == "dp-sgd" ? "steps" : "passes"] = std::string(method) == "dp-sgd" ? "40" : "8";
      Trial run = trial(method, options, 1, empty_shard());
      run.run();
      EXPECT_NEAR(measure(run, "clip"), end, 1e-9) << method;
    }
}

// The cost of the votes is in the noise, and in nothing else: the events are those of a clip that stays.
TEST(FollowingClip, TheLedgerIsThatOfThePlanAndOfAClipThatStays) {
  for (const char* method : {"dp-sgd", "dp-ftrl"}) {
    Options options{{"batch", "60"}, {"clip", "2"}};
    if (std::string(method) == "dp-sgd") options["steps"] = "30";
    Trial stays = trial(method, options, 1);
    stays.run();
    Trial follows = trial(method, test::with(options, {{"clip_quantile", "0.5"}}), 1);
    follows.run();
    EXPECT_EQ(follows.ledger->events(), events_of_all(follows.queries));
    EXPECT_EQ(follows.ledger->events(), stays.ledger->events());
    EXPECT_NEAR(follows.queries[0].noise_std / 200 / (stays.queries[0].noise_std / 2), 1 / std::sqrt(0.99), 1e-3)
        << "noise over the clip";
  }
}

// Of dp-ftrl, whose curator has a memory, too, whole runs are resumed in every_method_resume_test.cpp.
TEST(FollowingClip, GoesOnFromItsArchive) {
  const auto start = [] {
    return trial("dp-sgd",
                 {{"batch", "60"}, {"clip", "2"}, {"clip_quantile", "0.4"}, {"clip_rate", "1"}, {"steps", "10"}},
                 1);
  };
  Trial whole = start();
  whole.run(5);
  Trial stopped = start();
  stopped.run(3);
  Trial resumed = start();
  resumed.resume(stopped);
  EXPECT_EQ(measure(resumed, "clip"), measure(stopped, "clip"));
  EXPECT_NE(measure(resumed, "clip"), 2);
  resumed.run(2);
  EXPECT_EQ(resumed.iterate(), whole.iterate());
  EXPECT_EQ(measure(resumed, "clip"), measure(whole, "clip"));
}

TEST(FollowingClip, StepsAllocateNothing) {
  for (const char* method : {"dp-sgd", "dp-ftrl"}) {
    const bool sgd = std::string(method) == "dp-sgd";
    Options options{{"batch", "60"}, {"clip", "2"}, {"clip_quantile", "0.4"}};
    options[sgd ? "steps" : "passes"] = sgd ? "90" : "18";
    if (sgd) options["sampling"] = "full";
    Trial run = trial(method, options, 1);
    run.run(20);
    const std::size_t before = test::allocation_count();
    run.run(70);
    EXPECT_EQ(test::allocation_count(), before) << method;
  }
}

TEST(FollowingClip, SaysWhatItNeeds) {
  const auto problems_of = [](const Options& options) {
    FollowingClipSettings clip;
    dpmpi::Options declared("method");
    clip.declare(declared);
    Settings given;
    for (const auto& [key, value] : options) given["method." + key] = {value, "test"};
    std::vector<std::string> problems;
    declared.read(given, problems);
    clip.validate(problems);
    return problems;
  };
  EXPECT_TRUE(problems_of({{"clip_quantile", "0.5"}}).empty());
  EXPECT_TRUE(problems_of({{"clipping", "per_layer"}}).empty());
  EXPECT_EQ(problems_of({{"clip_quantile", "0.5"}, {"clipping", "per_layer"}}).size(), 1u);
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"clip_quantile", "1"},
                                                                                   {"clip_quantile", "-0.1"},
                                                                                   {"clip_quantile", "nan"},
                                                                                   {"clip_rate", "0"},
                                                                                   {"clip_rate", "1.1"},
                                                                                   {"clip_range", "0.9"},
                                                                                   {"clip_range", "1e5"},
                                                                                   {"clip_share", "0"},
                                                                                   {"clip_share", "0.6"},
                                                                                   {"clip", "0"},
                                                                                   {"clip", "inf"}})
    EXPECT_EQ(problems_of({{key, value}}).size(), 1u) << key << " " << value;
  for (const char* method : {"dp-sgd", "dp-ftrl"})
    EXPECT_THROW(Trial(method, {{"clip_quantile", "0.5"}}, 1,
                       test::make_objective("mallows", {shape.features, shape.storage, shape.bias}),
                       test::random_shard(shape, 2)),
                 ConfigError)
        << "no norms";
}

}  // namespace
}  // namespace dpmpi::following_clip_test
