// Weights and exposures of records: what losses, gradients, norms and pairs of losses become by them, for every
// objective that heeds them.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/linear/record_gradients.hpp"
#include "objective/linear/steps.hpp"
#include "objective/objective_property.hpp"
#include "objective/values/zeroth_order.hpp"
#include "support/shards.hpp"

namespace dpmpi::test::weighted_records_test {
namespace {

struct Model {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;
  RecordsShape shape;
  bool smooth = true;
};

constexpr std::size_t features = 9, classes = 4, rows = 37;

std::vector<Model> models() {
  using enum LabelKind;
  std::vector<Model> all;
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32}) {
    const auto add = [&](const char* name, LabelKind labels, bool smooth,
                         const std::vector<std::pair<std::string, std::string>>& options = {}) {
      all.push_back({name, options, {storage, rows, features, 1, labels, classes}, smooth});
    };
    add("logistic", sign, true);
    add("squared", real, true);
    add("absolute", real, false);
    add("poisson", LabelKind::count, true);
    add("softmax", class_, true, {{"objective.classes", "4"}});
    add("mlp", class_, true,
        {{"objective.classes", "4"}, {"objective.hidden", "7"}, {"objective.activation", "tanh"}});
    add("mlp", sign, true,
        {{"objective.head", "logistic"}, {"objective.hidden", "7,5"}, {"objective.activation", "softplus"}});
  }
  return all;
}

/// An objective with records whose weights are eighths, and with exposures where it heeds them.
struct Weighted {
  explicit Weighted(const Model& model)
      : objective(make_objective(model.name, {features, model.shape.storage, 1}, model.options)),
        records(random_records(model.shape)),
        w(objective->dim()) {
    EXPECT_TRUE(objective->heeds().weight) << model.name;
    EXPECT_EQ(objective->heeds().exposure, model.name == "poisson");
    const PublicStream stream(3, "weights");
    for (std::size_t i = 0; i < rows; ++i) {
      records.weight.push_back(static_cast<float>(stream.below(i, 9)) / 8);
      if (objective->heeds().exposure)
        records.offset.push_back(static_cast<float>(std::log(0.1 + stream.uniform(rows + i))));
    }
    objective->initialise(stream, w);
    for (std::size_t j = 0; j < w.size(); ++j) w[j] += 0.4F * static_cast<float>(stream.uniform(1000 + j) - 0.5);
    unweighted = records;
    unweighted.weight.clear();
  }
  std::unique_ptr<Objective> objective;
  Records records, unweighted;
  std::vector<float> w;
};

std::string name_of(const Model& model) {
  return fmt::format("{}, {} hidden options, storage {}", model.name, model.options.size(),
                     static_cast<int>(model.shape.storage));
}

// Differences of weighted losses are the gradients; clips, bits and empty slots are as ever.
TEST(WeightedRecords, KeepTheContract) {
  for (const Model& model : models()) {
    SCOPED_TRACE(name_of(model));
    const Weighted x(model);
    check_contract({.objective = *x.objective,
                    .records = x.records,
                    .w = x.w,
                    .smooth = model.smooth,
                    .tolerance = 2e-3,
                    .clippings = {Clipping::flat}});
  }
}

// Eight times a record of weight k / 8 is k times the record.
TEST(WeightedRecords, AreRepeatedRecordsForWholeWeights) {
  for (const Model& model : models()) {
    SCOPED_TRACE(name_of(model));
    const Weighted x(model);
    const auto index = all_rows(x.records);
    const auto weighted = losses_of(*x.objective, x.w, x.records, index);
    const auto plain = losses_of(*x.objective, x.w, x.unweighted, index);
    std::vector<double> norms(rows), plain_norms(rows);
    x.objective->at(x.w).gradient_norms({x.records, index}, norms);
    x.objective->at(x.w).gradient_norms({x.unweighted, index}, plain_norms);
    for (std::size_t i = 0; i < rows; ++i) {
      const double weight = static_cast<double>(x.records.weight[i]);
      EXPECT_DOUBLE_EQ(weighted[i], weight * plain[i]);
      EXPECT_NEAR(norms[i], weight * plain_norms[i], 1e-6 * plain_norms[i]);
      const auto g = gradient_of(*x.objective, x.w, x.records, i),
                 of_one = gradient_of(*x.objective, x.w, x.unweighted, i);
      const double size = norm_of(of_one);
      for (std::size_t j = 0; j < g.size(); ++j) ASSERT_NEAR(8 * g[j], 8 * weight * of_one[j], 1e-5 * (1 + size));
    }
  }
}

// What is clipped is the weighted gradient: a light record stays whole where a heavy one does not.
TEST(WeightedRecords, AreClippedAfterTheyWereWeighted) {
  for (const Model& model : models()) {
    SCOPED_TRACE(name_of(model));
    Weighted x(model);
    x.records.weight.assign(rows, 1.0F / 1024);
    const auto g = gradient_of(*x.objective, x.w, x.unweighted, 3);
    if (norm_of(g) == 0) continue;
    const double clip = norm_of(g) / 16;
    const auto light = fine_contribution(*x.objective, clipped_gradients(*x.objective, x.w), x.records, 3, clip);
    for (std::size_t j = 0; j < g.size(); ++j) EXPECT_NEAR(light[j], g[j] / 1024, 1e-6 * norm_of(g));
  }
}

TEST(WeightedRecords, WeightsOfOneChangeNoBit) {
  for (const Model& model : models()) {
    SCOPED_TRACE(name_of(model));
    Weighted x(model);
    x.records.weight.assign(rows, 1.0F);
    const auto index = all_rows(x.records);
    EXPECT_TRUE(same_bits(losses_of(*x.objective, x.w, x.records, index),
                          losses_of(*x.objective, x.w, x.unweighted, index)));
    const auto sum = [&](const Records& records) {
      return contributions(*x.objective, clipped_gradients(*x.objective, x.w), records, index, {.clip = 0.1},
                           test_lattice(0.1));
    };
    EXPECT_EQ(sum(x.records), sum(x.unweighted));
  }
}

// Slopes along directions are those of the weighted loss before they are clipped, also where they have a closed
// form.
TEST(WeightedRecords, PairsOfLossesAreWeighted) {
  for (const Model& model : models()) {
    SCOPED_TRACE(name_of(model));
    const Weighted x(model);
    const std::vector<double> at = widened(x.w);
    for (const bool fast : {false, true}) {
      ZerothOrder estimator(*x.objective, {.radius = 1e-3, .fast = fast});
      estimator.gradient(at, 0, 1);
      for (std::uint32_t i = 0; i < 5; ++i) {
        const auto estimate = [&](const Records& records) {
          const auto g = estimator.estimate({records, {&i, 1}}, i);
          return std::vector<double>(g.begin(), g.end());
        };
        const auto weighted = estimate(x.records), plain = estimate(x.unweighted);
        ASSERT_EQ(weighted.size(), plain.size());
        for (std::size_t j = 0; j < plain.size(); ++j)
          EXPECT_NEAR(weighted[j], static_cast<double>(x.records.weight[i]) * plain[j],
                      1e-9 * (1 + norm_of(plain)));
      }
    }
  }
}

// exp(m + log e) - y (m + log e): the score and the loss of a record whose feature with coefficient 1 is log e.
TEST(WeightedRecords, ExposuresAreScoresOfCoefficientOne) {
  Weighted x({"poisson", {}, {Storage::dense_f32, rows, features, 1, LabelKind::count, 0}});
  const auto index = all_rows(x.records);
  std::vector<float> scores(rows), plain(rows);
  x.objective->at(x.w).scores({x.records, index}, scores);
  Records without = x.unweighted;
  without.offset.clear();
  x.objective->at(x.w).scores({without, index}, plain);
  const auto losses = losses_of(*x.objective, x.w, x.unweighted, index);
  for (std::size_t i = 0; i < rows; ++i) {
    const double m = static_cast<double>(plain[i]) + static_cast<double>(x.records.offset[i]),
                 y = static_cast<double>(x.records.label[i]);
    EXPECT_NEAR(static_cast<double>(scores[i]), m, 1e-6);
    EXPECT_NEAR(losses[i], std::exp(m) - y * m, 1e-5 * (1 + std::abs(losses[i])));
    const auto g = gradient_of(*x.objective, x.w, x.unweighted, i);
    for (std::size_t j = 0; j < features; ++j)
      EXPECT_NEAR(g[j], (std::exp(m) - y) * feature(x.records, i, j), 1e-5 * (1 + norm_of(g)));
  }
}

// What goes past the kernels by the form of the loss would not see them, and says so.
TEST(WeightedRecords, AreRefusedByWhatGoesByTheForm) {
  const ObjectiveFacts facts{features, Storage::dense_f32, 1};
  const auto logistic = make_objective("logistic", facts);
  const auto softmax = make_objective("softmax", facts, {{"objective.classes", "4"}});
  EXPECT_NO_THROW(ClampedSteps{*logistic});
  EXPECT_NO_THROW(record_gradients(*softmax, facts, 1));
  logistic->record_factors.weight = softmax->record_factors.weight = true;
  EXPECT_THROW(ClampedSteps{*logistic}, ConfigError);
  EXPECT_THROW(record_gradients(*softmax, facts, 1), ConfigError);
  const auto poisson = make_objective("poisson", facts);
  poisson->record_factors.exposure = true;
  EXPECT_THROW(ClampedSteps{*poisson}, ConfigError);
}

}  // namespace
}  // namespace dpmpi::test::weighted_records_test
