// The area under the ROC curve of records that are spread over ranks: exact, with ties, whoever holds which record.
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "problems/black_box.hpp"
#include "run/evaluate/evaluate.hpp"
#include "run/evaluate/metrics.hpp"
#include "run/evaluate/predictions.hpp"
#include "run/evaluate/scores.hpp"
#include "support/mpi_harness.hpp"
#include "support/shards.hpp"

namespace dpmpi::evaluate_mpi_test {
namespace {

constexpr std::uint32_t blocks = 8;

/// Records of one feature with five values, so that most pairs of scores are ties or nearly so. `one_sided`: all
/// positive records lie in the first block, and rank 1 up has none.
Shard shard_of(int rank, int size, bool one_sided) {
  Shard shard = test::random_shard({Storage::dense_f32, 400, 1, 1, LabelKind::sign}, blocks, rank, size);
  for (auto& block : shard.blocks)
    for (std::size_t i = 0; i < block.records.count; ++i) {
      float& x = block.records.f32[i * block.records.stride];
      x = std::clamp(std::round(x), -2.0F, 2.0F);
      if (one_sided) block.records.label[i] = block.id == 0 ? 1.0F : -1.0F;
      if (i % 17 == 3) test::remove_record(block.records, i);  // an empty slot is no record
    }
  return shard;
}

/// The share of pairs in order, counted one by one.
double counted_auc(std::span<const float> w, bool one_sided) {
  std::vector<float> positive, negative;
  for (const auto& block : shard_of(0, 1, one_sided).blocks)
    for (std::size_t i = 0; i < block.records.count; ++i)
      if (!std::isnan(block.records.label[i]))
        (block.records.label[i] > 0 ? positive : negative)
            .push_back(w[0] * block.records.f32[i * block.records.stride] + w[1]);
  std::uint64_t twice = 0;
  for (float p : positive)
    for (float n : negative) twice += p > n ? 2 : p == n ? 1 : 0;
  return static_cast<double>(twice) / 2 /
         (static_cast<double>(positive.size()) * static_cast<double>(negative.size()));
}

TEST(Evaluate, SumsOfTheLargestNumbersFit) {
  EXPECT_EQ(exact_unit(1e6, 1000), 0x1p-24);
  for (const std::uint64_t records : {1ull, 500'000ull, 600'000ull, 1ull << 32, 1ull << 40}) {
    const double unit = exact_unit(1e6, records);
    EXPECT_LT(1e6 / unit * static_cast<double>(records), 0x1p62) << records;
    EXPECT_TRUE(unit == 0x1p-24 || 1e6 / unit * static_cast<double>(records) >= 0x1p60) << records;
  }
}

TEST(Evaluate, AucIsExactOnAnyNumberOfRanks) {
  for (const bool one_sided : {false, true})
    for (const float slope : {0.7F, 0.0F, -1.3F}) {
      const std::vector<float> w = {slope, 0.2F, 0.3F, 0.1F, 0.5F};  // weight, bias, a, b, alpha
      test::for_each_size({1, 2, 3, 5, 8}, [&](const Communicator& comm) {
        const Shard shard = shard_of(comm.rank(), comm.size(), one_sided);
        const auto objective =
            test::make_objective("auc", {1, Storage::dense_f32, 1}, {{"objective.prior", "0.5"}});
        const Evaluation result = evaluate(comm, *objective, w, shard);
        if (!comm.is_root()) return;
        ASSERT_TRUE(result.auc.has_value());
        EXPECT_EQ(*result.auc, counted_auc(w, one_sided)) << comm.size() << " ranks, slope " << slope;
        EXPECT_EQ(*result.auc == 0.5, slope == 0);
      });
    }
}

/// Losses and no scores, whatever labels are.
class Unscored final : public test::BlackBox {
 public:
  explicit Unscored(LabelKind kind)
      : BlackBox(1, [](std::size_t, std::span<const double>) { return 2.0; }), kind_(kind) {}
  LabelKind label_kind() const override { return kind_; }
  std::size_t classes() const override { return 2; }

 private:
  LabelKind kind_;
};

TEST(Evaluate, ObjectivesWithoutScoresHaveLossesAlone) {
  test::for_each_size({1, 2}, [&](const Communicator& comm) {
    for (const LabelKind kind : {LabelKind::class_, LabelKind::sign}) {
      const Shard shard =
          test::random_shard({Storage::dense_f32, 400, 1, 1, LabelKind::sign}, blocks, comm.rank(), comm.size());
      TrainedModel model{std::make_unique<Unscored>(kind), {0.0F}, shard};
      const Evaluation result = evaluate(comm, *model.objective, model.parameters, shard, true);
      if (comm.is_root()) {
        EXPECT_EQ(result.records, 400u);
        EXPECT_EQ(result.loss, 2);
        EXPECT_FALSE(result.accuracy || result.auc);
        EXPECT_TRUE(result.roc.empty());
      }
      for_each_score(*model.objective, model.parameters, model.records,
                     [](const Block&, std::uint32_t, std::span<const float>) { FAIL() << "no scores"; });
      EXPECT_TRUE(assess(comm, *model.objective, model.parameters, model.records).confusion.empty());
      EXPECT_THROW(write_predictions(comm, model, {}, {}, ::testing::TempDir() + "no_scores.csv"), ConfigError);
    }
  });
}

TEST(Evaluate, MeasuresHaveTheSameBitsOnAnyNumberOfRanks) {
  for (const bool episodes : {false, true}) {
    std::vector<std::pair<std::string, std::string>> options{{"objective.hidden", "7"}};
    if (episodes) options.insert(options.end(), {{"objective.unit", "episode"}, {"objective.episode_steps", "3"}});
    const std::uint64_t features = episodes ? 18 : 5;
    double expected = 0;
    test::for_each_size({1, 2, 3, 5, 8}, [&](const Communicator& comm) {
      Shard shard = test::random_shard({Storage::dense_f32, 400, features, 1, LabelKind::real}, blocks, comm.rank(),
                                       comm.size());
      for (auto& block : shard.blocks)
        for (std::size_t i = 0; i < block.records.count; ++i) {
          if (episodes) block.records.label[i] = static_cast<float>(i % 3 + 1);
          if (i % 17 == 3 || (block.id == 5 && !episodes)) test::remove_record(block.records, i);
        }
      const auto objective = test::make_objective("td", {features, Storage::dense_f32, 1}, options);
      std::vector<float> w(objective->dim());
      objective->initialise(PublicStream(3, "measured"), w);
      const Evaluation result = evaluate(comm, *objective, w, shard);
      ASSERT_EQ(result.measures.size(), 1u);
      EXPECT_EQ(result.measures[0].name, "projected_bellman_error");
      if (comm.size() == 1) expected = result.measures[0].value;
      comm.broadcast(expected);
      EXPECT_GT(expected, 0.01);
      EXPECT_EQ(result.measures[0].value, expected) << comm.rank() << " of " << comm.size();
    });
  }
}

/// Objective, kind of labels, options, features, and a metric that it has.
struct OfObjective {
  const char* name;
  LabelKind kind;
  std::vector<std::pair<std::string, std::string>> options;
  const char* metric;
};

std::string all_of(const Communicator& comm, const OfObjective& c) {
  Shard shard = test::random_shard({Storage::dense_f32, 400, 3, 1, c.kind, 4}, blocks, comm.rank(), comm.size());
  for (auto& block : shard.blocks)
    for (std::size_t i = 0; i < block.records.count; ++i) {
      float* const x = &block.records.f32[i * block.records.stride];
      x[0] = std::clamp(std::round(x[0]), -2.0F, 2.0F), x[2] = static_cast<float>(i % 3);
      if (i % 17 == 3) test::remove_record(block.records, i);
    }
  const auto objective = test::make_objective(c.name, {3, Storage::dense_f32, 1}, c.options);
  std::vector<float> w(objective->dim());
  PublicStream(5, "weights").normals(0, w);
  AssessmentRequest request{.resamples = 120};
  request.grouping = groups_by_column("3", shard.facts, {});
  return assessment_json(assess(comm, *objective, w, shard, request)).dump();
}

TEST(Evaluate, MetricsAndIntervalsHaveTheSameBitsOnAnyNumberOfRanks) {
  for (const OfObjective& c :
       std::vector<OfObjective>{{"logistic", LabelKind::sign, {}, "average_precision"},
                                {"softmax", LabelKind::class_, {{"objective.classes", "4"}}, "balanced_accuracy"},
                                {"squared", LabelKind::real, {}, "r2"},
                                {"poisson", LabelKind::count, {}, "rmse"}}) {
    std::string expected;
    test::for_each_size({1, 2, 3, 5, 8}, [&](const Communicator& comm) {
      const std::string found = all_of(comm, c);
      if (comm.size() == 1) expected = found;
      if (!comm.is_root()) return;
      EXPECT_EQ(found, expected) << c.name << " on " << comm.size() << " ranks";
      const auto seen = nlohmann::json::parse(found);
      EXPECT_TRUE(seen["metrics"][c.metric].is_number()) << found;
      EXPECT_LE(seen["intervals"][c.metric][0], seen["metrics"][c.metric]);
      EXPECT_GE(seen["intervals"][c.metric][1], seen["metrics"][c.metric]);
      ASSERT_EQ(seen["by_group"].size(), 3U);
      EXPECT_TRUE(seen["by_group"][2]["intervals"].contains(c.metric)) << found;
    });
  }
}

// Scores of counts are logarithms of rates.
TEST(Evaluate, CountsArePredictedByTheirRate) {
  Shard shard = test::random_shard({Storage::dense_f32, 2, 1, 1, LabelKind::count}, 1, 0, 1);
  float* const x = shard.blocks[0].records.f32.data();
  x[0] = 0, x[shard.blocks[0].records.stride] = std::log(2.0F);
  shard.blocks[0].records.label = {3, 1};
  const auto objective = test::make_objective("poisson", {1, Storage::dense_f32, 1});
  const Assessment a = assess(Communicator::alone(), *objective, std::vector<float>{1, 0}, shard);
  const auto seen = assessment_json(a);
  EXPECT_NEAR(seen["metrics"]["mae"].get<double>(), 1.5, 1e-6) << "1 for 3, and 2 for 1";
  EXPECT_NEAR(seen["metrics"]["rmse"].get<double>(), std::sqrt(2.5), 1e-6);
  EXPECT_NEAR(seen["metrics"]["r2"].get<double>(), 1 - 5.0 / 2, 1e-6);
  EXPECT_NEAR(seen["constants"]["rmse"].get<double>(), 1, 1e-12);
}

TEST(Evaluate, TooManyGroupsAreRefusedOnAllRanks) {
  test::for_each_size({1, 3}, [&](const Communicator& comm) {
    Shard shard =
        test::random_shard({Storage::dense_f32, 400, 1, 1, LabelKind::sign}, blocks, comm.rank(), comm.size());
    const auto objective = test::make_objective("logistic", {1, Storage::dense_f32, 1});
    AssessmentRequest request;
    request.grouping = groups_by_column("1", shard.facts, {});
    EXPECT_THROW(assess(comm, *objective, std::vector<float>{1, 0}, shard, request), ConfigError);
    request.grouping->most = 400;  // as of an objective that has so many
    const Assessment a = assess(comm, *objective, std::vector<float>{1, 0}, shard, request);
    EXPECT_EQ(a.by_group.size(), comm.is_root() ? 400U : 0U);
  });
}

TEST(Evaluate, GroupsAreAColumnOrItsWords) {
  DatasetFacts facts;
  facts.features = 4, facts.feature_names = "age\nkind=a\nkind=b\n3";
  Shard shard = test::random_shard({Storage::dense_f32, 3, 4, 1, LabelKind::sign}, 1, 0, 1);
  Records& records = shard.blocks[0].records;
  std::copy_n(std::vector<float>{7, 0, 1, 5}.begin(), 4, records.f32.begin());
  std::fill_n(records.f32.begin() + static_cast<std::ptrdiff_t>(records.stride), 4, 0.0F);
  const Grouping words = groups_by_column("kind", facts, {});
  EXPECT_EQ(words.name(words.of(records, 0)), "b");
  EXPECT_EQ(words.name(words.of(records, 1)), "(none of these)");
  ReadingRules moved;
  moved.mean = {"0.5"};
  EXPECT_THROW(groups_by_column("kind", facts, moved), ConfigError) << "0 is not where a word is not";
  EXPECT_EQ(groups_by_column("age", facts, {}).of(records, 0), 7);
  EXPECT_EQ(groups_by_column("3", facts, {}).of(records, 0), 5) << "a name comes before a number";
  EXPECT_EQ(groups_by_column("1", facts, {}).name(7), "7");
  for (const char* wrong : {"0", "5", "-1", "pay", "kin", "1.5"})
    EXPECT_THROW(groups_by_column(wrong, facts, {}), ConfigError);
}

}  // namespace
}  // namespace dpmpi::evaluate_mpi_test
