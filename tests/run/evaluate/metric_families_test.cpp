// Metrics against numbers that were computed by hand.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run/evaluate/evaluate.hpp"
#include "run/evaluate/metric_families.hpp"

namespace dpmpi::metric_families_test {
namespace {

using Values = std::map<std::string, double>;

/// By the names of the metrics; of classes with the class's number in front.
Values values_of(const MetricFamilies& families, const std::vector<std::uint8_t>& weights) {
  Values all;
  for (const auto& family : families) {
    const auto names = family->names();
    std::vector<double> values(names.size());
    family->measure(weights, values);
    for (std::size_t m = 0; m < names.size(); ++m) all[names[m]] = values[m];
  }
  return all;
}

Values values_of(const ScoredRecords& records) {
  return values_of(label_metrics(records), std::vector<std::uint8_t>(records.size(), 1));
}

Values of_constant(const ScoredRecords& records) {
  Values all;
  for (const auto& family : label_metrics(records)) {
    const auto names = family->names();
    const auto values = family->of_constant();
    for (std::size_t m = 0; m < names.size(); ++m) all[names[m]] = values[m];
  }
  return all;
}

/// Sign labels (0: -1) with falling scores, above 0.5 taken for +1.
ScoredRecords ranked(const std::vector<float>& score, const std::vector<float>& label) {
  ScoredRecords records;
  records.classes = 2, records.ranked = true;
  records.score = score, records.label = label;
  for (const float s : score) records.predicted.push_back(s > 0.5F ? 1.0F : 0.0F), records.loss.push_back(s);
  return records;
}

ScoredRecords classified(std::size_t classes, const std::vector<float>& label,
                         const std::vector<float>& predicted) {
  ScoredRecords records;
  records.classes = classes;
  records.label = label, records.predicted = predicted, records.loss.resize(label.size());
  return records;
}

ScoredRecords quantities(const std::vector<float>& label, const std::vector<float>& predicted) {
  ScoredRecords records;
  records.quantities = true;
  records.label = label, records.predicted = predicted, records.loss.resize(label.size());
  return records;
}

TEST(MetricFamilies, ClassesAreCountedOneByOne) {
  // Class 0: 3 records, 2 right. Class 1: 2 records, 1 right. Class 2: 1 record, right. Taken for: 3, 1, 2.
  const ScoredRecords records = classified(3, {0, 0, 0, 1, 1, 2}, {0, 0, 2, 1, 0, 2});
  const Values all = values_of(records);
  EXPECT_DOUBLE_EQ(all.at("accuracy"), 4.0 / 6);
  EXPECT_DOUBLE_EQ(all.at("balanced_accuracy"), (2.0 / 3 + 0.5 + 1) / 3);
  EXPECT_DOUBLE_EQ(of_constant(records).at("accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(of_constant(records).at("balanced_accuracy"), 1.0 / 3);
  std::vector<double> by_class(9);
  metrics_by_class(records)->measure(std::vector<std::uint8_t>(6, 1), by_class);
  const std::vector<double> expected{2.0 / 3, 2.0 / 3, 4.0 / 6, 1, 0.5, 2.0 / 3, 0.5, 1, 2.0 / 3};
  for (std::size_t m = 0; m < 9; ++m) EXPECT_DOUBLE_EQ(by_class[m], expected[m]) << m;
  metrics_by_class(records)->measure(std::vector<std::uint8_t>{1, 0, 3, 0, 0, 2}, by_class);
  EXPECT_DOUBLE_EQ(by_class[1], 0.25) << "weights count records";
  EXPECT_DOUBLE_EQ(by_class[6], 0.4);
}

TEST(MetricFamilies, OneClassAloneHasNoBalanceAndNoRanks) {
  const ScoredRecords records = ranked({0.9F, 0.7F, 0.2F}, {1, 1, 1});
  const Values all = values_of(records), constant = of_constant(records);
  EXPECT_DOUBLE_EQ(all.at("accuracy"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(constant.at("accuracy"), 1);
  for (const char* name : {"balanced_accuracy", "auc", "average_precision"}) {
    EXPECT_TRUE(std::isnan(all.at(name))) << name;
    EXPECT_TRUE(std::isnan(constant.at(name))) << name;
  }
  std::vector<double> by_class(6);
  metrics_by_class(records)->measure(std::vector<std::uint8_t>(3, 1), by_class);
  EXPECT_DOUBLE_EQ(by_class[0], 0) << "one record was taken for class 0, wrongly";
  EXPECT_TRUE(std::isnan(by_class[1])) << "there is none to recall";
  EXPECT_DOUBLE_EQ(by_class[3], 1);
  EXPECT_DOUBLE_EQ(by_class[4], 2.0 / 3);
}

TEST(MetricFamilies, NoRecordsHaveNoMetrics) {
  for (const ScoredRecords& none : {ranked({}, {}), quantities({}, {})})
    for (const Values& all : {values_of(none), of_constant(none)})
      for (const auto& [name, value] : all) EXPECT_TRUE(std::isnan(value)) << name;
  double loss = 0;
  mean_loss_metric(ranked({}, {}), "loss")->measure({}, std::span(&loss, 1));
  EXPECT_TRUE(std::isnan(loss));
}

TEST(MetricFamilies, RanksAreThoseOfTheDefinition) {
  // Found at ranks 1, 3 and 4: precisions 1, 2/3, 3/4. Pairs in order: 2 + 1 + 1 of 6.
  const Values all = values_of(ranked({0.9F, 0.8F, 0.7F, 0.6F, 0.1F}, {1, 0, 1, 1, 0}));
  EXPECT_DOUBLE_EQ(all.at("average_precision"), (1 + 2.0 / 3 + 0.75) / 3);
  EXPECT_DOUBLE_EQ(all.at("auc"), 4.0 / 6);
  EXPECT_DOUBLE_EQ(of_constant(ranked({0.9F, 0.8F, 0.7F}, {1, 0, 1})).at("average_precision"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(of_constant(ranked({0.9F, 0.8F, 0.7F}, {1, 0, 1})).at("auc"), 0.5);
}

TEST(MetricFamilies, TiesAreFoundTogether) {
  // The first step finds 2 of 3 records, at precision 2/3, the second the last one, at 3/5.
  const ScoredRecords records = ranked({0.8F, 0.8F, 0.8F, 0.3F, 0.3F}, {1, 0, 1, 0, 1});
  const Values all = values_of(records);
  EXPECT_DOUBLE_EQ(all.at("average_precision"), (2 * 2.0 / 3 + 0.6) / 3);
  EXPECT_DOUBLE_EQ(all.at("auc"), (2 * 0.5 + 2 * 1 + 0 + 0.5) / 6);
  EXPECT_EQ(all.at("auc"), *area_under_curve(records.score, std::vector<float>{1, -1, 1, -1, 1}));
  const Values same = values_of(ranked({0.2F, 0.2F, 0.2F, 0.2F}, {0, 1, 0, 0}));
  EXPECT_DOUBLE_EQ(same.at("auc"), 0.5);
  EXPECT_DOUBLE_EQ(same.at("average_precision"), 0.25) << "that of a constant";
}

TEST(MetricFamilies, AWeightCountsAsSoManyRecords) {
  const ScoredRecords once = ranked({0.9F, 0.6F, 0.6F, 0.2F}, {1, 0, 1, 0});
  const ScoredRecords often = ranked({0.9F, 0.9F, 0.6F, 0.6F, 0.6F, 0.2F, 0.2F, 0.2F}, {1, 1, 1, 1, 1, 0, 0, 0});
  const Values weighted = values_of(label_metrics(once), {2, 0, 3, 3});
  for (const auto& [name, value] : values_of(often)) EXPECT_DOUBLE_EQ(weighted.at(name), value) << name;
  const Values errors = values_of(label_metrics(quantities({1, 2, 5}, {2, 2, 3})), {1, 0, 2});
  for (const auto& [name, value] : values_of(quantities({1, 5, 5}, {2, 3, 3})))
    EXPECT_DOUBLE_EQ(errors.at(name), value) << name;
}

// Of a table with a column of weights, whose unit does not matter; resamples multiply them.
TEST(MetricFamilies, ARecordsOwnWeightCountsAsSoManyRecords) {
  ScoredRecords once = ranked({0.9F, 0.6F, 0.6F, 0.2F}, {1, 0, 1, 0});
  const ScoredRecords often = ranked({0.9F, 0.9F, 0.6F, 0.6F, 0.6F, 0.2F, 0.2F, 0.2F}, {1, 1, 1, 1, 1, 0, 0, 0});
  once.weight = {0.5F, 0, 0.75F, 0.75F};
  const auto expect_same = [](const Values& weighted, const Values& expected) {
    for (const auto& [name, value] : expected) EXPECT_DOUBLE_EQ(weighted.at(name), value) << name;
  };
  expect_same(values_of(once), values_of(often));
  expect_same(of_constant(once), of_constant(often));
  once.weight = {1, 0, 1, 1.5F};
  expect_same(values_of(label_metrics(once), {2, 5, 3, 2}), values_of(often));
  EXPECT_DOUBLE_EQ(*area_under_curve(once.score, once.label, std::vector<float>{2, 0, 3, 3}),
                   *area_under_curve(often.score, often.label));
  ScoredRecords errors = quantities({1, 2, 5}, {2, 2, 3});
  errors.weight = {0.25F, 0, 0.5F};
  expect_same(values_of(errors), values_of(quantities({1, 5, 5}, {2, 3, 3})));
  expect_same(of_constant(errors), of_constant(quantities({1, 5, 5}, {2, 3, 3})));
}

TEST(MetricFamilies, ErrorsStandBesideThoseOfTheMeanAndTheMedian) {
  // Errors 1, 0, -2, 1; labels about their mean 4: -3, -2, -1, 6; about their median 2.5: 1.5, 0.5, 0.5, 7.5.
  const ScoredRecords records = quantities({1, 2, 3, 10}, {2, 2, 1, 11});
  const Values all = values_of(records), constant = of_constant(records);
  EXPECT_DOUBLE_EQ(all.at("rmse"), std::sqrt(6.0 / 4));
  EXPECT_DOUBLE_EQ(all.at("mae"), 1);
  EXPECT_DOUBLE_EQ(all.at("r2"), 1 - 6.0 / 50);
  EXPECT_DOUBLE_EQ(constant.at("rmse"), std::sqrt(50.0 / 4));
  EXPECT_DOUBLE_EQ(constant.at("mae"), 2.5);
  EXPECT_DOUBLE_EQ(constant.at("r2"), 0);
}

TEST(MetricFamilies, EqualLabelsHaveNoSpreadToExplain) {
  const ScoredRecords records = quantities({0.1F, 0.1F, 0.1F}, {0.1F, 0.2F, 0.1F});
  EXPECT_TRUE(std::isnan(values_of(records).at("r2")));
  EXPECT_TRUE(std::isnan(of_constant(records).at("r2")));
  EXPECT_DOUBLE_EQ(of_constant(records).at("rmse"), 0);
  EXPECT_TRUE(std::isnan(values_of(label_metrics(quantities({1, 3}, {1, 1})), {0, 3}).at("r2")));
}

TEST(MetricFamilies, APredictionThatIsFarOffLeavesNumbers) {
  const Values all = values_of(quantities({0, 1}, {0, 3.4e38F}));
  for (const auto& [name, value] : all) EXPECT_TRUE(std::isfinite(value)) << name;
}

}  // namespace
}  // namespace dpmpi::metric_families_test
