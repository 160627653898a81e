// Evaluations and predictions of models that were trained with class weights, against numbers by hand.
#include "run/evaluate/population.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "objective/linear/glm.hpp"
#include "objective/math/losses.hpp"
#include "objective/network/mlp.hpp"
#include "run/evaluate/evaluate.hpp"
#include "run/evaluate/scores.hpp"
#include "run/warnings/constant_predictor.hpp"
#include "support/shards.hpp"

namespace dpmpi::test::population_test {
namespace {

/// Records with one feature, 0, so that a model's scores are its biases.
Records records_with(const std::vector<float>& labels) {
  Records records = random_records({.count = labels.size(), .features = 1});
  for (std::size_t i = 0; i < labels.size(); ++i) {
    records.f32[i * records.stride] = 0;
    records.label[i] = labels[i];
    update_norm(records, i);
  }
  return records;
}

struct Told {
  std::vector<double> losses;
  std::vector<float> scores;
};

Told told(Objective& objective, const std::vector<float>& w, const Records& records) {
  const PopulationModel model(objective, w);
  Told out{std::vector<double>(records.count), std::vector<float>(records.count * objective.outputs())};
  std::vector<std::uint32_t> all(records.count);
  std::iota(all.begin(), all.end(), 0U);
  model.evaluate({records, all}, out.losses, out.scores);
  std::vector<float> again(out.scores.size());
  model.scores({records, all}, again);
  EXPECT_EQ(again, out.scores);
  return out;
}

const ObjectiveFacts one_feature{1, Storage::dense_f32, 1};

// Of 10 records 1 is positive. With weights 1 and 18 the best constant has 18 : 9 as odds, a margin of log 2; the
// probability of +1 is 0.1 all the same.
TEST(PopulationModel, ProbabilitiesOfSignsAreThoseOfTheRecords) {
  Glm glm(one_feature, logistic_loss(), ClassWeights({1, 18}));
  const Records records = records_with({1, -1});
  const Told model = told(glm, {0, static_cast<float>(std::log(2.0))}, records);
  for (const float score : model.scores) {
    EXPECT_NEAR(score, std::log(1.0 / 9), 1e-6);
    EXPECT_NEAR(probability(std::span(&score, 1), 1), 0.1, 1e-7);
  }
  EXPECT_NEAR(model.losses[0], -std::log(0.1), 1e-6);
  EXPECT_NEAR(model.losses[1], -std::log(0.9), 1e-7);
}

// Frequencies 0.7, 0.2, 0.1 with weights 1, 3, 8: probabilities of the weighted population are 7, 6, 8 of 21.
TEST(PopulationModel, ProbabilitiesOfClassesAreThoseOfTheRecords) {
  const auto softmax = make_mlp({.units = {1, 3}, .class_weights = ClassWeights({1, 3, 8})});
  const Records records = records_with({0, 1, 2});
  std::vector<float> w(softmax->dim(), 0);
  const double frequency[] = {0.7, 0.2, 0.1};
  for (std::size_t k = 0; k < 3; ++k) w[3 + k] = static_cast<float>(std::log(std::vector{7.0, 6.0, 8.0}[k]));
  const Told model = told(*softmax, w, records);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto own = std::span(model.scores).subspan(3 * i, 3);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(probability(own, k), frequency[k], 1e-6);
    EXPECT_EQ(predicted_class(*softmax, own), 0U) << "with its weight it would be 2";
    EXPECT_NEAR(model.losses[i], -std::log(frequency[i]), 1e-6);
  }
}

// A margin says nothing of probabilities: it stays, and the loss is that of a record of weight 1.
TEST(PopulationModel, MarginsStayAsTheyAre) {
  Glm hinge(one_feature, hinge_loss(), ClassWeights({2, 18}));
  const Records records = records_with({1, -1});
  const Told model = told(hinge, {0, 0.25F}, records);
  EXPECT_EQ(model.scores, (std::vector<float>{0.25F, 0.25F}));
  EXPECT_DOUBLE_EQ(model.losses[0], 0.75);
  EXPECT_DOUBLE_EQ(model.losses[1], 1.25);
}

TEST(PopulationModel, WithoutWeightsItIsTheModel) {
  Glm glm(one_feature, logistic_loss());
  const Records records = records_with({1, -1});
  const std::vector<float> w{0, 0.3F};
  const Told model = told(glm, w, records);
  std::vector<double> losses(2);
  const std::uint32_t all[] = {0, 1};
  glm.at(w).losses({records, all}, losses);
  EXPECT_EQ(model.losses, losses);
  EXPECT_EQ(model.scores, (std::vector<float>{0.3F, 0.3F}));
}

// Metrics of training with weights are compared with constants, which know of no weights.
TEST(PopulationModel, EvaluationsAndConstantsHaveNoWeights) {
  std::vector<float> labels(10, -1);
  labels[3] = 1;
  const Shard shard = one_block(records_with(labels));
  const Communicator alone = Communicator::alone();
  const double entropy = -(0.1 * std::log(0.1) + 0.9 * std::log(0.9));
  Glm glm(one_feature, logistic_loss(), ClassWeights({1, 18}));
  EXPECT_NEAR(evaluate(alone, glm, std::vector{0.0F, std::log(2.0F)}, shard).loss, entropy, 1e-6);
  EXPECT_NEAR(evaluate(alone, glm, std::vector{0.0F, std::log(2.0F)}, shard).accuracy.value(), 0.9, 1e-12);
  EXPECT_NEAR(best_constant(alone, glm, shard).loss.value(), entropy, 1e-6);
  Glm weighted(one_feature, hinge_loss(), ClassWeights({1, 18})), plain(one_feature, hinge_loss());
  EXPECT_NEAR(best_constant(alone, weighted, shard).loss.value(), best_constant(alone, plain, shard).loss.value(),
              1e-9);
}

}  // namespace
}  // namespace dpmpi::test::population_test
