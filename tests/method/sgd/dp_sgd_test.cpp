// dp-sgd against its formula: x <- x - rate / B * (sum of clipped gradients + noise), on one rank, step by step.
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "method/schedule.hpp"
#include "problems/trial.hpp"

namespace dpmpi::dp_sgd_test {
namespace {

constexpr test::RecordsShape shape{Storage::dense_f32, 300, 6, 1, LabelKind::sign};

using test::Trial;

Trial trial(const char* name, const std::map<std::string, std::string>& options, double multiplier) {
  return Trial(name, options, multiplier,
               test::make_objective("logistic", {shape.features, shape.storage, shape.bias}),
               test::random_shard(shape, 2), Adjacency::add_remove);
}

// Full batch without noise: every step is computed again from the records in double precision.
TEST(DpSgd, StepFollowsTheFormula) {
  Trial sgd =
      trial("dp-sgd", {{"sampling", "full"}, {"steps", "5"}, {"clip", "0.8"}, {"rate", "2"}, {"batch", "300"}}, 0);
  sgd.objective->l2 = 0.01;
  std::vector<double> x(7, 0.0);
  for (std::uint64_t t = 0; t < 5; ++t) {
    std::vector<double> sum(7, 0.0);
    for (const auto& block : sgd.shard.blocks)
      for (std::size_t i = 0; i < block.records.count; ++i) {
        double margin = x[6], norm = 1;
        for (std::size_t j = 0; j < 6; ++j)
          margin += x[j] * block.records.row_f32(i)[j], norm += std::pow(block.records.row_f32(i)[j], 2);
        const double y = block.records.label[i], slope = -y / (1 + std::exp(y * margin));
        const double scale = std::min(1.0, 0.8 / (std::abs(slope) * std::sqrt(norm)));
        for (std::size_t j = 0; j < 7; ++j) sum[j] += scale * slope * (j < 6 ? block.records.row_f32(i)[j] : 1.0);
      }
    for (std::size_t j = 0; j < 7; ++j) x[j] -= 2 * (sum[j] / 300 + (j < 6 ? 0.01 * x[j] : 0));
    sgd.algorithm->step(*sgd.curator, t);
    for (std::size_t j = 0; j < 7; ++j)
      EXPECT_NEAR(sgd.algorithm->iterate()[j], x[j], 2e-4) << "step " << t << " coordinate " << j;
  }
}

// With all slots empty a step is noise alone, of deviation rate * z * C / B, B the public expected size.
TEST(DpSgd, NoiseIsScaledByTheExpectedBatch) {
  constexpr int steps = 400;
  Trial silent = trial("dp-sgd", {{"batch", "60"}, {"steps", "400"}, {"clip", "1e-6"}, {"rate", "1"}}, 3.0);
  for (auto& block : silent.shard.blocks)
    for (std::size_t i = 0; i < block.records.count; ++i) test::remove_record(block.records, i);
  double square = 0;
  std::vector<float> before;
  before.assign(silent.algorithm->iterate().begin(), silent.algorithm->iterate().end());
  for (std::uint64_t t = 0; t < steps; ++t) {
    silent.algorithm->step(*silent.curator, t);
    for (std::size_t j = 0; j < 7; ++j)
      square += std::pow((silent.algorithm->iterate()[j] - before[j]) / (3e-6 / 60), 2);
    before.assign(silent.algorithm->iterate().begin(), silent.algorithm->iterate().end());
  }
  EXPECT_NEAR(square / (7 * steps), 1, 5 * std::sqrt(2.0 / (7 * steps)));
}

TEST(DpSgd, StepsComeFromEpochsAndTheExpectedBatch) {
  for (const auto& [batch, epochs, expected] :
       {std::tuple{"100", "10", 30u}, {"7", "1", 43u}, {"300", "2.5", 3u}}) {
    const Trial planned = trial("dp-sgd", {{"batch", batch}, {"epochs", epochs}}, 1.0);
    EXPECT_EQ(planned.queries[0].steps, expected) << batch << " " << epochs;
  }
  EXPECT_THROW(trial("dp-sgd", {{"batch", "301"}}, 1.0), ConfigError);
  EXPECT_THROW(trial("dp-sgd", {{"epochs", "1e300"}}, 1.0), ConfigError);
}

// What sampling = full takes is all records, whatever batch is; a batch of all records is the full batch.
TEST(DpSgd, FullBatchesAreAllRecords) {
  const Trial full = trial("dp-sgd", {{"sampling", "full"}, {"batch", "301"}, {"steps", "2"}}, 1.0);
  EXPECT_TRUE(std::holds_alternative<FullBatch>(full.queries[0].sampling));
  EXPECT_EQ(full.derived("B"), 300);
  for (const char* sampling : {"poisson", "balls_in_bins", "wor", "cyclic"}) {
    const Trial all = trial("dp-sgd", {{"sampling", sampling}, {"batch", "300"}, {"steps", "2"}}, 1.0);
    EXPECT_TRUE(std::holds_alternative<FullBatch>(all.queries[0].sampling)) << sampling;
  }
}

// Epochs of balls in bins are charged as they begin, as far as a run goes: seven steps of three are three epochs.
TEST(DpSgd, BallsInBinsAreOneEventAnEpoch) {
  const Trial run = trial("dp-sgd", {{"sampling", "balls_in_bins"}, {"batch", "101"}, {"steps", "7"}}, 1.5);
  const Query& gradient = run.queries[0];
  EXPECT_EQ(std::get<BallsInBins>(gradient.sampling).steps, 3U);
  EXPECT_EQ(run.derived("B"), 100);
  const Mechanism epoch = RandomAllocationGaussian{3, 1, 1.5};
  EXPECT_EQ(gradient.events(0, 7), (std::vector<Event>{{epoch, 3}}));
  EXPECT_EQ(gradient.events(1, 6), (std::vector<Event>{{epoch, 1}})) << "of the steps 1 to 5 one begins an epoch";
  EXPECT_TRUE(gradient.events(4, 6).empty());
  EXPECT_EQ(trial("dp-sgd", {{"sampling", "balls_in_bins"}, {"batch", "101"}, {"epochs", "4"}}, 1).queries[0].steps,
            12U);
}

// A count that no integer holds is refused, not wrapped.
TEST(Steps, OfEpochsAreAtMostTwoToTheForty) {
  EXPECT_EQ(steps_of_epochs(1, 1 << 20, 0x1p-20), 1ULL << 40);
  EXPECT_EQ(steps_of_epochs(1e-300, 300, 100), 1u);
  for (const double epochs : {1.0001, 1e13, 1e300, std::numeric_limits<double>::infinity()})
    EXPECT_THROW(steps_of_epochs(epochs, 1 << 20, 0x1p-20), ConfigError) << epochs;
}

}  // namespace
}  // namespace dpmpi::dp_sgd_test
