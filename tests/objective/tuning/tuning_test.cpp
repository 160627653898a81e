#include "objective/tuning/tuning.hpp"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "data/synthetic/generate.hpp"
#include "objective/eigen.hpp"
#include "objective/objective_property.hpp"
#include "problems/tuning_objectives.hpp"

namespace dpmpi::test::tuning_test {
namespace {

const Communicator alone = Communicator::alone();

class TuningTest : public ::testing::Test {
 protected:
  std::unique_ptr<Tuning> make(const TuningCase& c) const { return make_tuning(c, folder_.file("public"), alone); }
  test::Folder folder_;
};

std::vector<double> losses_at(const AtPoints& models, std::size_t p, const Records& records,
                              std::span<const std::uint32_t> index) {
  std::vector<double> out(index.size());
  models.losses(p, {records, index}, out);
  return out;
}

std::vector<double> all_losses(const AtPoints& models, std::size_t p, const Records& records) {
  return losses_at(models, p, records, all_rows(records));
}

// T17: a record's loss depends on that record and the point alone.
TEST_F(TuningTest, ARecordHasAPartInItsOwnLossesOnlyT17) {
  for (const TuningCase& c : tuning_cases()) {
    const auto objective = make(c);
    const auto points = tuning_points(*objective, 3);
    const Records records = tuning_records(c.labels, 29, 5);
    Records changed = records;
    constexpr std::size_t j = 11;
    for (std::size_t k = 0; k < tuning_features; ++k) changed.f32[j * changed.stride + k] *= -3;
    changed.label[j] = -changed.label[j];
    update_norm(changed, j);
    const AtPoints models = objective->at_points(points);
    for (std::size_t p = 0; p < 3; ++p) {
      const auto before = all_losses(models, p, records), after = all_losses(models, p, changed);
      for (std::size_t i = 0; i < records.count; ++i)
        EXPECT_EQ(std::bit_cast<std::uint64_t>(before[i]) == std::bit_cast<std::uint64_t>(after[i]), i != j)
            << c.name << ", record " << i << " at point " << p;
    }
    // Nor does anything stay from scoring: the models trained afterwards are the same.
    const auto fresh = make(c);
    EXPECT_TRUE(same_bits(all_losses(objective->at_points(points), 2, changed),
                          all_losses(fresh->at_points(points), 2, changed)))
        << c.name;
    EXPECT_THROW(all_losses(models, 2, changed), PointReplaced) << c.name;
  }
}

// T22: how many models are trained follows from releases, so nothing is promised to those that they are trained on:
// the certificate says so, with the file's name.
TEST_F(TuningTest, PromisesNothingToThoseThatModelsAreTrainedOnT22) {
  for (const TuningCase& c : tuning_cases()) {
    const auto said = make(c)->assumptions();
    ASSERT_EQ(said.size(), 1u) << c.name;
    for (const char* part : {"objective.train = ", "are public or protected by other means",
                             "the guarantee is for the records that models are scored on"})
      EXPECT_NE(said[0].find(part), std::string::npos) << said[0];
  }
}

TEST_F(TuningTest, BitsDoNotDependOnOtherRowsOrStorage) {
  for (const TuningCase& c : tuning_cases()) {
    const auto objective = make(c);
    const AtPoints models = objective->at_points(tuning_points(*objective, 2));
    for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32}) {
      const Records records = tuning_records(c.labels, 27, 6, storage);
      const auto all = all_losses(models, 1, records);
      for (std::uint32_t i = 0; i < records.count; ++i)
        EXPECT_EQ(losses_at(models, 1, records, std::span(&i, 1))[0], all[i]) << c.name;
      std::vector<std::uint32_t> odd;
      for (std::uint32_t i = 1; i < records.count; i += 2) odd.push_back(i);
      const auto some = losses_at(models, 1, records, odd);
      for (std::size_t k = 0; k < odd.size(); ++k) EXPECT_EQ(some[k], all[odd[k]]) << c.name;
    }
  }
}

TEST_F(TuningTest, OnePointIsTheSameAsOneOfMany) {
  for (const TuningCase& c : tuning_cases()) {
    const auto objective = make(c);
    const auto points = tuning_points(*objective, 4);
    const Records records = tuning_records(c.labels, 20, 8);
    std::vector<std::vector<double>> many;
    const AtPoints models = objective->at_points(points);
    for (std::size_t p = 0; p < 4; ++p) many.push_back(all_losses(models, p, records));
    EXPECT_EQ(objective->trained(), 4U);
    for (std::size_t p : {2U, 0U}) {
      const auto from = points.begin() + static_cast<std::ptrdiff_t>(p * objective->dim());
      const std::vector<float> w(from, from + static_cast<std::ptrdiff_t>(objective->dim()));
      EXPECT_TRUE(same_bits(losses_of(*objective, w, records, all_rows(records)), many[p])) << c.name;
      objective->at(w);
    }
    EXPECT_EQ(objective->trained(), 6U) << c.name << ": the model of the last point is kept";
    EXPECT_NE(many[0], many[1]) << c.name << ": points matter";
  }
}

TEST_F(TuningTest, WhatDoesNotCountIsNoNumber) {
  for (const TuningCase& c : tuning_cases()) {
    const auto objective = make(c);
    auto points = tuning_points(*objective, 2);
    points.back() = std::numeric_limits<double>::quiet_NaN();
    Records records = tuning_records(c.labels, 12, 9);
    empty_slot(records, 3);
    ASSERT_TRUE(spoil_feature(records, 7, std::numeric_limits<float>::infinity()));
    const AtPoints models = objective->at_points(points);
    const auto good = all_losses(models, 0, records), bad = all_losses(models, 1, records);
    for (std::size_t i = 0; i < records.count; ++i) {
      EXPECT_EQ(std::isfinite(good[i]), i != 3 && i != 7) << c.name << ", record " << i;
      EXPECT_TRUE(std::isnan(bad[i])) << c.name << ", record " << i;
    }
  }
}

TEST_F(TuningTest, ScoringAllocatesNothing) {
  for (const TuningCase& c : tuning_cases()) {
    const auto objective = make(c);
    const AtPoints models = objective->at_points(tuning_points(*objective, 2));
    const Records records = tuning_records(c.labels, 64, 5);
    const auto index = all_rows(records);
    std::vector<double> out(index.size());
    models.losses(0, {records, index}, out);
    const std::size_t before = allocation_count();
    for (std::size_t p = 0; p < 2; ++p) models.losses(p, {records, index}, out);
    EXPECT_EQ(allocation_count(), before) << c.name;
  }
}

// ---- the models ----

/// Features and labels of the public set, as Eigen sees them.
struct Table {
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
};

Table table_of(const Records& records) {
  const auto n = static_cast<Eigen::Index>(records.count), d = static_cast<Eigen::Index>(records.features);
  Table t{Eigen::MatrixXd(n, d), Eigen::VectorXd(n)};
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < d; ++j)
      t.x(i, j) = feature(records, static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    t.y(i) = static_cast<double>(records.label[static_cast<std::size_t>(i)]);
  }
  return t;
}

/// exp(-(1/2) sum_j (a_j - b_j)^2 weight_j), row by row.
Eigen::MatrixXd gaussian_kernel(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b, const Eigen::VectorXd& weight) {
  Eigen::MatrixXd k(a.rows(), b.rows());
  for (Eigen::Index i = 0; i < a.rows(); ++i)
    for (Eigen::Index j = 0; j < b.rows(); ++j)
      k(i, j) = std::exp(-(a.row(i) - b.row(j)).cwiseAbs2().dot(weight.transpose()) / 2);
  return k;
}

TEST_F(TuningTest, ProcessesPredictAsTheirFormulaSays) {
  const TuningCase c = tuning_cases()[0];
  const auto objective = make(c);
  ASSERT_EQ(objective->dim(), tuning_features + 1);
  const auto point = tuning_points(*objective, 1);
  const AtPoints models = objective->at_points(point);
  const Table train = table_of(tuning_records(c.labels, 21, 77));
  const Records records = tuning_records(c.labels, 19, 5);
  const Table seen = table_of(records);
  Eigen::VectorXd weight(tuning_features);
  for (Eigen::Index j = 0; j < weight.size(); ++j)  // the coordinates of lengths are their logarithms
    weight(j) = std::exp(-2 * point[static_cast<std::size_t>(j)]);
  const double noise = 0.1 * std::pow(10, (point.back() + 2) / 4);
  Eigen::MatrixXd k = gaussian_kernel(train.x, train.x, weight);
  k.diagonal().array() += noise * noise;
  const Eigen::VectorXd score = gaussian_kernel(seen.x, train.x, weight) * k.ldlt().solve(train.y);
  const auto losses = all_losses(models, 0, records);
  for (Eigen::Index i = 0; i < score.size(); ++i)
    EXPECT_NEAR(losses[static_cast<std::size_t>(i)], std::pow(score(i) - seen.y(i), 2) / 2, 1e-9);
}

/// The score that a logistic loss at label 1 belongs to.
double score_of(double loss) { return -std::log(std::expm1(loss)); }

/// Scores of records with label 1, from losses.
Eigen::VectorXd scores_at(const AtPoints& models, Records records, bool logistic) {
  if (logistic) std::fill(records.label.begin(), records.label.end(), 1.0F);
  const auto losses = all_losses(models, 0, records);
  Eigen::VectorXd scores(static_cast<Eigen::Index>(losses.size()));
  for (std::size_t i = 0; i < losses.size(); ++i) scores(static_cast<Eigen::Index>(i)) = score_of(losses[i]);
  return scores;
}

// For a record of the public set, the score s and the dual coefficient b obey: y s > 1: b = 0; y s < 1: |b| = C;
// else in between. Coefficients follow from scores, s = (K + 1) b.
TEST_F(TuningTest, MachinesMeetTheirOptimalityConditions) {
  const TuningCase c{
      "machine", "tune_svm", {{"objective.loss", "logistic"}, {"objective.cost", "0.1,10"}}, LabelKind::sign};
  const auto objective = make(c);
  ASSERT_EQ(objective->dim(), 2U);
  for (const double at : {-1.5, 0.0, 1.0}) {
    const AtPoints models = objective->at_points(std::vector<double>{at, 1.0});
    const Records records = tuning_records(c.labels, 21, 77);
    const Table train = table_of(records);
    const double cost = 0.1 * std::pow(100, (at + 2) / 4), gamma = 0.01 * std::pow(500, 0.75);
    Eigen::MatrixXd k =
        gaussian_kernel(train.x, train.x, Eigen::VectorXd::Constant(tuning_features, 2 * gamma)).array() + 1;
    const Eigen::VectorXd score = scores_at(models, records, true), b = k.ldlt().solve(score);
    double bounded = 0, free = 0;
    for (Eigen::Index i = 0; i < b.size(); ++i) {
      const double margin = train.y(i) * score(i), size = train.y(i) * b(i);
      EXPECT_GT(size, -1e-5);
      EXPECT_LT(size, cost + 1e-5);
      if (margin > 1 + 1e-5) {
        EXPECT_NEAR(size, 0, 1e-5) << i;
      }
      if (margin < 1 - 1e-5) {
        EXPECT_NEAR(size, cost, 1e-5) << i;
      }
      bounded += size > cost - 1e-5, free += size > 1e-5 && size < cost - 1e-5;
    }
    EXPECT_GT(bounded + free, 3) << "there are support vectors";
  }
}

// Regression: |residual| < epsilon: b = 0; beyond it |b| = C; the sign of b is the residual's.
TEST_F(TuningTest, RegressingMachinesMeetTheirOptimalityConditions) {
  const TuningCase c{"regression",
                     "tune_svm",
                     {{"objective.loss", "absolute"}, {"objective.epsilon", "0.2"}, {"objective.gamma", "0.3"}},
                     LabelKind::real};
  const auto objective = make(c);
  ASSERT_EQ(objective->dim(), 1U);
  const AtPoints models = objective->at_points(std::vector<double>{0.0});
  Records records = tuning_records(c.labels, 21, 77);
  const Table train = table_of(records);
  std::fill(records.label.begin(), records.label.end(), -1000.0F);  // |s + 1000| = s + 1000
  const auto losses = all_losses(models, 0, records);
  Eigen::VectorXd score(train.y.size());
  for (Eigen::Index i = 0; i < score.size(); ++i) score(i) = losses[static_cast<std::size_t>(i)] - 1000;
  Eigen::MatrixXd k =
      gaussian_kernel(train.x, train.x, Eigen::VectorXd::Constant(tuning_features, 0.6)).array() + 1;
  const Eigen::VectorXd b = k.ldlt().solve(score);
  int inside = 0, outside = 0, on_edge = 0;
  for (Eigen::Index i = 0; i < b.size(); ++i) {
    const double residual = train.y(i) - score(i), size = std::copysign(1, residual) * b(i);
    if (std::abs(residual) < 0.2 - 1e-5) {
      EXPECT_NEAR(b(i), 0, 1e-5);
      ++inside;
    } else if (std::abs(residual) > 0.2 + 1e-5) {
      EXPECT_NEAR(size, 1, 1e-5);
      ++outside;  // C = 1 in the middle of 0.1 .. 10
    } else {
      EXPECT_GT(size, -1e-5);
      EXPECT_LT(size, 1 + 1e-5);
      ++on_edge;
    }
  }
  EXPECT_GT(outside + on_edge, 3);
  EXPECT_GT(inside + on_edge, 3);
}

TEST_F(TuningTest, RidgesEndWhereTheGradientVanishes) {
  const TuningCase c = tuning_cases()[4];
  const auto objective = make(c);
  ASSERT_EQ(objective->dim(), tuning_features);
  const auto point = tuning_points(*objective, 1);
  const AtPoints models = objective->at_points(point);
  const Records records = tuning_records(c.labels, 21, 77);
  const Table train = table_of(records);
  const Eigen::VectorXd score = scores_at(models, records, true);
  Eigen::MatrixXd columns(train.x.rows(), tuning_features + 1);
  columns << train.x, Eigen::VectorXd::Ones(train.x.rows());
  const Eigen::VectorXd w = columns.colPivHouseholderQr().solve(score);
  EXPECT_LT((columns * w - score).norm(), 1e-9) << "scores are linear";
  Eigen::VectorXd slope(score.size());
  for (Eigen::Index i = 0; i < slope.size(); ++i) slope(i) = -train.y(i) / (1 + std::exp(train.y(i) * score(i)));
  const Eigen::VectorXd gradient = columns.transpose() * slope / static_cast<double>(slope.size());
  for (Eigen::Index j = 0; j < static_cast<Eigen::Index>(tuning_features); ++j) {
    const double ridge = 1e-4 * std::pow(1e4, (point[static_cast<std::size_t>(j)] + 2) / 4);
    EXPECT_NEAR(gradient(j) + ridge * w(j), 0, 1e-8) << j;
  }
  EXPECT_NEAR(gradient(tuning_features), 0, 1e-5);  // but for its own small ridge
}

TEST_F(TuningTest, NetworksDescendAlongTheirGradient) {
  const TuningCase c{"network",
                     "tune_mlp",
                     {{"objective.epochs", "400"},
                      {"objective.width", "1,3"},
                      {"objective.rate", "0.01,0.1"},
                      {"objective.decay", "0.0001,0.001"}},
                     LabelKind::real};
  const auto objective = make(c);
  const Records records = tuning_records(c.labels, 21, 77);
  const auto fit = [&](double rate, double width, double decay) {
    const AtPoints models = objective->at_points(std::vector<double>{rate, width, decay});
    const auto losses = all_losses(models, 0, records);
    return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
  };
  const double constant = table_of(records).y.squaredNorm() / 42;
  EXPECT_LT(fit(2, 2, -2), 0.3 * constant) << "three units fit 21 labels well";
  EXPECT_LT(fit(2, 2, -2), fit(2, -2, -2)) << "and better than one";
  EXPECT_LT(fit(2, 2, -2), fit(-2, 2, -2)) << "fast training gets further";
  // Continuous in the width: units fade in.
  const double two = 4 * std::log(2.0) / std::log(3.0) - 2;
  EXPECT_NEAR(fit(0, two - 1e-9, 0), fit(0, two + 1e-9, 0), 1e-6);
  EXPECT_GT(std::abs(fit(0, two - 0.2, 0) - fit(0, two + 0.2, 0)), 1e-4);
}

TEST_F(TuningTest, NetworksThatDivergeAreNoModels) {
  const TuningCase c{
      "network", "tune_mlp", {{"objective.rate", "1,1000000"}, {"objective.epochs", "2000"}}, LabelKind::real};
  const auto objective = make(c);
  const AtPoints models = objective->at_points(std::vector<double>{2, 0, 2});
  for (const double loss : all_losses(models, 0, tuning_records(c.labels, 9, 5))) EXPECT_TRUE(std::isnan(loss));
}

TEST_F(TuningTest, MachinesWhoseKernelIsNoNumberAreNoModels) {
  const TuningCase c{"machine", "tune_svm", {{"objective.lengthscale", "1e-300"}}, LabelKind::sign};
  const auto objective = make(c);
  ::testing::internal::CaptureStderr();
  const AtPoints models = objective->at_points(std::vector<double>{0, 0});
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("1 of 1 models could not be trained"), std::string::npos);
  for (const double loss : all_losses(models, 0, tuning_records(c.labels, 9, 5))) EXPECT_TRUE(std::isnan(loss));
}

// Lengths that fit are found by whoever minimises these losses: the true ones are far better than wrong ones.
TEST_F(TuningTest, TheLossOfSmoothDataIsLeastNearTheTrueLengths) {
  GenerateOptions data;
  data.kind = "smooth", data.features = 15, data.records = 200, data.eval_records = 200;
  data.output = folder_.file("validation.csv"), data.eval_output = folder_.file("public.csv");
  generate(data);
  const auto objective =
      test::make_objective("tune_gp", {15, Storage::dense_f32, 1}, {{"objective.train", data.eval_output}});
  give_public_records(alone, *objective, DataFiles({}, data.eval_output));
  std::vector<double> points(3 * 15, 0.0);
  for (std::size_t j = 0; j < 15; ++j) points[j] = j < 5 ? 0 : std::log(6.0), points[15 + j] = -1.5;
  const AtPoints models = objective->at_points(points);
  const Records records = generate_records(data, 0, 200);
  double mean[3] = {}, square = 0;
  for (const float y : records.label) square += static_cast<double>(y) * static_cast<double>(y) / 200;
  for (std::size_t p = 0; p < 3; ++p)
    for (const double loss : all_losses(models, p, records)) mean[p] += 2 * loss / 200;
  EXPECT_LT(mean[0], 0.2 * square);  // mean squared errors
  EXPECT_GT(mean[1], 0.9 * square) << "short lengths predict nothing";
  EXPECT_GT(mean[2], 2 * mean[0]);
}

// ---- coordinates and errors ----

TEST(TunedRange, GoesGeometricallyFromOneEndToTheOther) {
  const TunedRange range = TunedRange::parse("objective.cost", {"0.01", "100"});
  EXPECT_TRUE(range.searched());
  EXPECT_DOUBLE_EQ(range.at(-2), 0.01);
  EXPECT_NEAR(range.at(0), 1, 1e-14);
  EXPECT_NEAR(range.at(2), 100, 1e-12);
  EXPECT_EQ(range.at(7), range.at(2));
  EXPECT_EQ(range.at(-7), range.at(-2));
  EXPECT_TRUE(std::isnan(range.at(std::nan(""))));
  const TunedRange fixed = TunedRange::parse("objective.cost", {"3"});
  EXPECT_FALSE(fixed.searched());
  EXPECT_EQ(fixed.at(1), 3);
}

TEST(TunedRange, RefusesWhatIsNoRange) {
  for (const std::vector<std::string>& text :
       {std::vector<std::string>{}, {"0"}, {"-1"}, {"2", "1"}, {"1", "1"}, {"1", "2", "3"}, {"0", "1"}}) {
    try {
      TunedRange::parse("objective.cost", text);
      ADD_FAILURE() << "accepted";
    } catch (const ConfigError& e) {
      EXPECT_NE(std::string(e.what()).find("objective.cost = "), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("ascending"), std::string::npos) << e.what();
    }
  }
  EXPECT_THROW(TunedRange::parse("objective.cost", {"one"}), ConfigError);
}

TEST_F(TuningTest, SaysWhatIsWrongWithItsSettings) {
  const auto message = [&](const TuningCase& c, std::size_t features, const std::string& file) {
    auto options = c.options;
    options.emplace_back("objective.train", file);
    try {
      give_public_records(alone, *test::make_objective(c.objective, {features, Storage::dense_f32, 1}, options),
                          DataFiles({}, file));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const TuningCase process{"", "tune_gp", {}, LabelKind::real};
  const std::string file = folder_.file("public");
  write_records(file, "native", tuning_records(LabelKind::real, 21, 77));
  EXPECT_EQ(message(process, tuning_features, file), "");
  EXPECT_NE(message(process, tuning_features, "").find("objective.train is not set"), std::string::npos);
  EXPECT_NE(message(process, 7, file).find("has 5 features, data.train has 7"), std::string::npos);
  EXPECT_NE(message(process, 5, folder_.file("absent")).find("absent"), std::string::npos);
  EXPECT_NE(
      message({"", "tune_gp", {{"objective.lengthscale", "2"}}, LabelKind::real}, 5, file).find("searched for"),
      std::string::npos);
  EXPECT_NE(message({"", "tune_mlp", {{"objective.width", "1,5000"}}, LabelKind::real}, 5, file).find("4096"),
            std::string::npos);
  EXPECT_NE(message({"", "tune_logistic", {}, LabelKind::sign}, 5, file), "") << "labels must be signs";
}

TEST_F(TuningTest, StartsInTheMiddleOrAnywhereInTheBox) {
  for (const char* start : {"centre", "random"}) {
    TuningCase c = tuning_cases()[0];
    c.options.emplace_back("objective.start", start);
    const auto objective = make(c);
    std::vector<float> w(objective->dim(), 9);
    objective->initialise(PublicStream(1, "start"), w);
    const bool centre = std::string(start) == "centre";
    for (const float x : w) {
      EXPECT_LE(std::abs(x), 2.0F);
      EXPECT_EQ(x == 0, centre);
    }
  }
}

}  // namespace
}  // namespace dpmpi::test::tuning_test
