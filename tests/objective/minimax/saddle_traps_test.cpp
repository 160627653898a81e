// Known ways in which private min-max training goes wrong, each with the test that catches it.
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/minimax/auc_reference.hpp"
#include "support/shards.hpp"

namespace dpmpi::test::saddle_traps_test {
namespace {

using Point = std::vector<float>;

/// One feature, h = w x, p = 1/2: a positive record's gradient is ((h - a - alpha) x, a - h, 0), a negative one's
/// is
/// ((h - b + alpha) x, 0, b - h).
std::unique_ptr<SaddleObjective> one_weight() {
  return make_auc(
      {.scorer = {.units = {1, 1}, .input_bias = 0}, .output = ScoreMap::identity, .prior = 0.5, .alpha_min = -10});
}

Records records_of(const std::vector<float>& feature, const std::vector<float>& label) {
  Records r = random_records({.count = feature.size(), .features = 1, .bias = 0});
  for (std::size_t i = 0; i < feature.size(); ++i) {
    r.f32[i * r.stride] = feature[i];
    r.label[i] = label[i];
    update_norm(r, i);
  }
  return r;
}

using Integers = std::vector<std::int64_t>;

/// The primal sum of all records, of gradients at w, or of differences of w and v.
Integers primal_sum(SaddleObjective& objective, const Records& records, const Point& w, double clip,
                    const Point* v = nullptr) {
  const PrimalView view(objective, {w.back()});
  const Kernel kernel = v ? clipped_primal_differences(objective, w, *v) : clipped_primal_gradients(objective, w);
  return contributions(view, kernel, records, all_rows(records), {clip}, test_lattice(clip));
}

std::int64_t dual_sum(SaddleObjective& objective, const Records& records, const Point& w, double clip) {
  LatticeAccumulator sum(1, test_lattice(clip), clip * 1.01);
  sum.clear();
  const auto index = all_rows(records);
  objective.at(w).add_clipped_dual_gradients({records, index}, {clip}, sum);
  return sum.totals()[0];
}

std::vector<double> real(const Integers& sum, double clip) {
  std::vector<double> values;
  for (std::int64_t v : sum) values.push_back(static_cast<double>(v) * test_lattice(clip).quantum());
  return values;
}

const AucSettings network{.scorer = {.units = {6, 7, 1}, .activation = Activation::tanh}, .prior = 0.3};

Point network_point(const SaddleObjective& objective) {
  Point w(objective.dim());
  objective.initialise(PublicStream(3, "start"), w);
  w[w.size() - 3] = 0.7F, w[w.size() - 2] = 0.2F, w[w.size() - 1] = 0.6F;
  return w;
}

TEST(SaddleTraps, T2DifferencesAreOfTheSameRecords) {
  const auto objective = make_auc(network);
  const Point w = network_point(*objective);
  const Records records = random_records({.count = 200, .features = 6});
  EXPECT_TRUE(all_zero(primal_sum(*objective, records, w, 0.1, &w)));
  const Point v = moved(w, 1e-3);
  EXPECT_FALSE(all_zero(primal_sum(*objective, records, w, 0.1, &v)));
}

TEST(SaddleTraps, T3KernelsSumAndDoNotAverage) {
  const auto objective = make_auc(network);
  const Point w = network_point(*objective);
  const Records once = random_records({.count = 60, .features = 6});
  Records twice = once;
  twice.count = 120;
  const auto repeat = [](auto& values, const auto& from) { values.insert(values.end(), from.begin(), from.end()); };
  repeat(twice.f32, once.f32);
  repeat(twice.label, once.label);
  repeat(twice.norm, once.norm);
  EXPECT_EQ(dual_sum(*objective, twice, w, 1.4), 2 * dual_sum(*objective, once, w, 1.4));
  const double clip = 0.1;
  const auto one = real(primal_sum(*objective, once, w, clip), clip),
             two = real(primal_sum(*objective, twice, w, clip), clip);
  for (std::size_t j = 0; j < one.size(); ++j) EXPECT_NEAR(two[j], 2 * one[j], 1e-3 * clip);
  EXPECT_GT(norm_of(one), clip);
}

TEST(SaddleTraps, T5TheDifferenceIsClippedNotTheGradients) {
  const auto objective = one_weight();
  const Records record = records_of({1}, {1});
  const double clip = 0.02;
  const Point g1 = {0, 0, 0, -3};  // gradient (3, 0, 0)
  const Point near = {0, 0, 0, -2.99F};
  const auto small = real(primal_sum(*objective, record, g1, clip, &near), clip);
  EXPECT_NEAR(small[0], 0.01, 1e-7);
  EXPECT_EQ(small[1], 0);
  const Point g2 = {-3, 0, 0, -3};  // gradient (0, 3, 0)
  const auto large = real(primal_sum(*objective, record, g1, clip, &g2), clip);
  EXPECT_NEAR(norm_of(large), clip, 1e-6 * clip);
  EXPECT_NEAR(large[0], -large[1], 1e-7);
}

TEST(SaddleTraps, T6EachRecordIsClippedNotTheMean) {
  const auto objective = one_weight();
  const double clip = 0.5;
  const Point w = {100, 0, 0, 0};
  for (std::size_t zeros : {9U, 99U}) {
    std::vector<float> feature(zeros + 1, 0.0F);
    feature[zeros / 2] = 1;
    const Records records = records_of(feature, std::vector<float>(zeros + 1, 1.0F));
    EXPECT_NEAR(norm_of(real(primal_sum(*objective, records, w, clip), clip)), clip, 1e-5 * clip);
  }
}

// Records without features have no gradient here whatever their label, unless p is counted from the batch.
TEST(SaddleTraps, T8OtherLabelsChangeNoBit) {
  const auto objective = one_weight();
  const Point w = {0.8F, 0, 0, 0.4F}, v = {0.7F, 0, 0, 0.4F};
  std::vector<float> feature(31, 0.0F), label(31, -1.0F);
  feature[15] = 1.3F;
  const Records before = records_of(feature, label);
  const auto gradient = primal_sum(*objective, before, w, 0.1);
  const auto difference = primal_sum(*objective, before, w, 0.1, &v);
  const std::int64_t dual = dual_sum(*objective, before, w, 1);
  EXPECT_FALSE(all_zero(gradient));
  EXPECT_FALSE(all_zero(difference));
  for (std::size_t flipped : {0U, 14U, 30U}) {
    label[flipped] = 1;
    const Records after = records_of(feature, label);
    EXPECT_EQ(primal_sum(*objective, after, w, 0.1), gradient);
    EXPECT_EQ(primal_sum(*objective, after, w, 0.1, &v), difference);
    EXPECT_EQ(dual_sum(*objective, after, w, 1), dual);
  }
}

// min(1, C / NaN) is 1: such a record would contribute anything.
TEST(SaddleTraps, T13NonFiniteRecordsContributeNothing) {
  const auto objective = make_auc(network);
  const Point w = network_point(*objective), v = moved(w, 1e-2);
  const Records good = random_records({.count = 20, .features = 6});
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Records spoiled = good, without = good;
    spoil_feature(spoiled, 7, bad);
    empty_slot(without, 7);
    EXPECT_EQ(primal_sum(*objective, spoiled, w, 0.1), primal_sum(*objective, without, w, 0.1));
    EXPECT_EQ(primal_sum(*objective, spoiled, w, 0.1, &v), primal_sum(*objective, without, w, 0.1, &v));
  }
  // A feature at the end of float32's range gives whatever it gives, within the clip.
  Records huge = good;
  for (std::size_t i = 0; i < huge.count; ++i) spoil_feature(huge, i, 3e38F);
  const double largest = static_cast<double>(good.count) * 0.1 * (1 + 1e-5);
  EXPECT_LE(norm_of(real(primal_sum(*objective, huge, w, 0.1), 0.1)), largest);
  EXPECT_LE(norm_of(real(primal_sum(*objective, huge, w, 0.1, &v), 0.1)), largest);
  EXPECT_LE(std::abs(static_cast<double>(dual_sum(*objective, huge, w, 1))), 20 * test_lattice(1).scale());
}

// The public part of the dual gradient is neither clipped nor scaled by who took part.
TEST(SaddleTraps, T18PublicTermsAreNotClipped) {
  const auto objective = make_auc(network);
  Point w = network_point(*objective);
  const Records none = random_records({.count = 0, .features = 6});
  EXPECT_EQ(dual_sum(*objective, none, w, 1e-6), 0);
  for (const float alpha : {0.0F, 0.6F, 2.0F}) {
    w.back() = alpha;
    double gradient = 0;
    objective->add_public_dual(w, 0, {&gradient, 1});
    EXPECT_DOUBLE_EQ(gradient, 2 * 0.3 * 0.7 * (1 - static_cast<double>(alpha)));
  }
}

TEST(AucOptions, DualStaysInItsInterval) {
  const auto objective = make_auc(network);
  for (const auto& [from, to] : {std::pair{-0.5F, 0.0F}, {0.7F, 0.7F}, {2.5F, 2.0F}}) {
    float alpha = from;
    objective->project_dual({&alpha, 1});
    EXPECT_EQ(alpha, to);
  }
  EXPECT_DOUBLE_EQ(*objective->dual_bound(), 1.4);
  EXPECT_DOUBLE_EQ(*objective->dual_curvature(), 0.42);
  objective->class_prior()->set_prior(0.5);
  EXPECT_DOUBLE_EQ(*objective->dual_curvature(), 0.5);
  EXPECT_DOUBLE_EQ(*objective->dual_bound(), 1.4)
      << "plans rest on it, and they are made before a prior is released";
}

TEST(AucOptions, SmoothConstantsAreThoseOfTheStatedPrior) {
  AucSettings linear = network;
  linear.scorer.units = {3, 1};
  linear.output = ScoreMap::identity;
  linear.feature_bound = 2;
  const auto objective = make_auc(linear);
  objective->class_prior()->set_prior(0.5);
  EXPECT_DOUBLE_EQ(objective->smooth_constants()->l_xx, 1.4 * 5);
  EXPECT_DOUBLE_EQ(objective->smooth_constants()->l_xy, 1.4 * 2);
}

TEST(AucOptions, PriorIsRequired) {
  for (double prior : {0.0, 1.0, std::nan("")}) {
    AucSettings settings = network;
    settings.prior = prior;
    EXPECT_THROW(make_auc(settings), ConfigError);
  }
  const ObjectiveFacts facts{784, Storage::dense_u8, 1};
  EXPECT_THROW(test::make_objective("auc", facts), ConfigError);
  const auto linear = test::make_objective("auc", facts, {{"objective.prior", "0.1"}});
  EXPECT_EQ(linear->dim(), 785U + 3);
  const auto mlp = test::make_objective("auc", facts, {{"objective.prior", "0.1"}, {"objective.scorer", "mlp"}});
  EXPECT_EQ(mlp->dim(), 233985U + 3);
  EXPECT_EQ(mlp->saddle()->primal_dim(), 233987U);
  EXPECT_FALSE(mlp->gradients());
  EXPECT_EQ(mlp->groups().back().name, "alpha.bias");
  AucSettings crossed = network;
  crossed.alpha_min = 2;
  EXPECT_THROW(make_auc(crossed), ConfigError);
}

TEST(AucOptions, CountsPositives) {
  const Records records = records_of({1, 1, 1, 1, 1}, {1, -1, 1, std::nanf(""), 1});
  LatticeAccumulator sum(1, test_lattice(1), 1.01);
  sum.clear();
  const auto index = all_rows(records);
  positives()({records, index}, {1}, sum);
  EXPECT_EQ(static_cast<double>(sum.totals()[0]) * test_lattice(1).quantum(), 3);
}

// A linear score with an identity output has exact constants, so that this clip never binds.
// A17 of min-max methods.
TEST(AucSmoothness, ClipByTheConstantsNeverBinds) {
  std::mt19937 bits(5);
  std::normal_distribution<double> normal;
  const std::size_t features = 8;
  Records records = random_records({.count = 100, .features = features});
  double bound = 0;
  for (float norm : records.norm) bound = std::max(bound, static_cast<double>(norm));
  const auto objective = make_auc(
      {.scorer = {.units = {features, 1}}, .output = ScoreMap::identity, .prior = 0.2, .feature_bound = bound});
  const auto constants = objective->smooth_constants();
  ASSERT_TRUE(constants.has_value());
  EXPECT_DOUBLE_EQ(constants->l_xx, 1.6 * (bound * bound + 1));
  EXPECT_DOUBLE_EQ(constants->l_xy, 1.6 * bound);
  Point w(objective->dim()), v(objective->dim());
  double largest = 0;
  for (int trial = 0; trial < 100; ++trial) {  // 10,000 differences
    const double step = std::pow(10.0, -static_cast<double>(bits() % 6));
    const std::size_t aligned = bits() % records.count;  // the worst direction of one record
    double dx = 0;
    for (std::size_t j = 0; j < w.size(); ++j) {
      const double x = j < features ? feature(records, aligned, j) : j == features ? 1 : j + 1 < w.size() ? -1 : 0;
      w[j] = static_cast<float>(normal(bits));
      v[j] = static_cast<float>(w[j] + step * (trial % 2 == 0 ? x : normal(bits)));
      if (j + 1 < w.size()) dx += std::pow(static_cast<double>(w[j]) - v[j], 2);
    }
    const double dy = std::abs(static_cast<double>(w.back()) - v.back());
    const double clip = constants->l_xx * std::sqrt(dx) + constants->l_xy * dy;
    const Lattice lattice = test_lattice(clip);
    const PrimalView view(*objective, {0});
    const Kernel kernel = clipped_primal_differences(*objective, w, v);
    for (std::size_t i = 0; i < records.count; ++i) {
      const auto own = contribution(view, kernel, records, i, {clip}, lattice);
      EXPECT_EQ(own, contribution(view, kernel, records, i, {4 * clip}, lattice)) << "clipped";
      largest = std::max(largest, norm_of(real(own, clip)) / clip);
    }
  }
  EXPECT_GT(largest, 0.5) << "the constants are not far off";
}

}  // namespace
}  // namespace dpmpi::test::saddle_traps_test
