// dp-sgd against its formula: x <- x - rate / B * (sum of clipped gradients + noise), on one rank, step by step.
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/method/method.hpp"
#include "dpmpi/method/steps.hpp"
#include "support/shards.hpp"

namespace dpmpi {
namespace {

constexpr test::RecordsShape shape{Storage::dense_f32, 300, 6, 1, LabelKind::sign};

struct Trial {
  Communicator comm = Communicator::alone();
  Shard shard = testing::random_shard(shape, 2);
  std::unique_ptr<Objective> objective =
      testing::make_objective("logistic", {shape.features, shape.storage, shape.bias});
  std::unique_ptr<Method> method;
  std::vector<Query> queries;
  std::optional<Ledger> ledger;
  std::unique_ptr<Curator> curator;

  Trial(const std::string& name, Settings settings, double multiplier) {
    for (const auto& entry : methods())
      if (entry.name == name) method = entry.make();
    Options options("method");
    method->declare(options);
    std::vector<std::string> problems;
    options.read(settings, problems);
    EXPECT_TRUE(problems.empty());
    const PublicFacts facts{shard.facts, objective.get(), Adjacency::add_remove};
    for (const auto& spec : method->queries(facts, multiplier))
      queries.push_back(
          Query::declare(spec, static_cast<std::uint32_t>(queries.size()), facts.adjacency, shape.count));
    const std::string path = ::testing::TempDir() + "dp_sgd_test.jsonl";
    std::filesystem::remove(path);
    ledger.emplace(Ledger::create(path, {facts.adjacency, shape.count}));
    curator =
        std::make_unique<Curator>(comm, shard, queries, objective->micro_batch_rows(), SecretKey::from_seed(1));
    curator->record_in(*ledger);
    method->start(*objective, queries, method->steps(facts));
  }
};

Setting value(const char* text) { return {text, "test"}; }

// Full batch without noise: every step is computed again from the records in double precision.
TEST(DpSgd, StepFollowsTheFormula) {
  Trial trial("sgd",
              {{"method.sampling", value("full")},
               {"method.steps", value("5")},
               {"method.clip", value("0.8")},
               {"method.rate", value("2")},
               {"method.batch", value("300")}},
              0);
  trial.objective->l2 = 0.01;
  std::vector<double> x(7, 0.0);
  for (std::uint64_t t = 0; t < 5; ++t) {
    std::vector<double> sum(7, 0.0);
    for (const auto& block : trial.shard.blocks)
      for (std::size_t i = 0; i < block.records.count; ++i) {
        double margin = x[6], norm = 1;
        for (std::size_t j = 0; j < 6; ++j)
          margin += x[j] * block.records.row_f32(i)[j], norm += std::pow(block.records.row_f32(i)[j], 2);
        const double y = block.records.label[i], slope = -y / (1 + std::exp(y * margin));
        const double scale = std::min(1.0, 0.8 / (std::abs(slope) * std::sqrt(norm)));
        for (std::size_t j = 0; j < 7; ++j) sum[j] += scale * slope * (j < 6 ? block.records.row_f32(i)[j] : 1.0);
      }
    for (std::size_t j = 0; j < 7; ++j) x[j] -= 2 * (sum[j] / 300 + (j < 6 ? 0.01 * x[j] : 0));
    trial.method->step(*trial.curator, t);
    for (std::size_t j = 0; j < 7; ++j)
      EXPECT_NEAR(trial.method->iterate()[j], x[j], 2e-4) << "step " << t << " coordinate " << j;
  }
}

// With all slots empty a step is noise alone, of deviation rate * z * C / B, B the public expected size.
TEST(DpSgd, NoiseIsScaledByTheExpectedBatch) {
  constexpr int steps = 400;
  Trial silent("dp-sgd",
               {{"method.batch", value("60")},
                {"method.steps", value("400")},
                {"method.clip", value("1e-6")},
                {"method.rate", value("1")}},
               3.0);
  for (auto& block : silent.shard.blocks)
    for (std::size_t i = 0; i < block.records.count; ++i) testing::remove_record(block.records, i);
  double square = 0;
  std::vector<float> before;
  before.assign(silent.method->iterate().begin(), silent.method->iterate().end());
  for (std::uint64_t t = 0; t < steps; ++t) {
    silent.method->step(*silent.curator, t);
    for (std::size_t j = 0; j < 7; ++j)
      square += std::pow((silent.method->iterate()[j] - before[j]) / (3e-6 / 60), 2);
    before.assign(silent.method->iterate().begin(), silent.method->iterate().end());
  }
  EXPECT_NEAR(square / (7 * steps), 1, 5 * std::sqrt(2.0 / (7 * steps)));
}

TEST(DpSgd, StepsComeFromEpochsAndTheExpectedBatch) {
  for (const auto& [batch, epochs, expected] :
       {std::tuple{"100", "10", 30u}, {"7", "1", 43u}, {"300", "2.5", 3u}}) {
    Trial trial("dp-sgd", {{"method.batch", value(batch)}, {"method.epochs", value(epochs)}}, 1.0);
    EXPECT_EQ(trial.queries[0].steps, expected) << batch << " " << epochs;
  }
  EXPECT_THROW(Trial("dp-sgd", {{"method.batch", value("301")}}, 1.0), ConfigError);
  EXPECT_THROW(Trial("dp-sgd", {{"method.epochs", value("1e300")}}, 1.0), ConfigError);
}

// A count that no integer holds is refused, not wrapped.
TEST(Steps, OfEpochsAreAtMostTwoToTheForty) {
  EXPECT_EQ(steps_of_epochs(1, 1 << 20, 0x1p-20), 1ULL << 40);
  EXPECT_EQ(steps_of_epochs(1e-300, 300, 100), 1u);
  for (const double epochs : {1.0001, 1e13, 1e300, std::numeric_limits<double>::infinity()})
    EXPECT_THROW(steps_of_epochs(epochs, 1 << 20, 0x1p-20), ConfigError) << epochs;
}

}  // namespace
}  // namespace dpmpi
