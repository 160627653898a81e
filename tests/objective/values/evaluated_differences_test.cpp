#include "objective/values/projected_differences.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/linear/glm.hpp"
#include "objective/values/difference_cases.hpp"
#include "problems/black_box.hpp"

namespace dpmpi::test::evaluated_differences_test {
namespace {

constexpr std::uint64_t key = difference_key;
using enum DirectionLaw;

/// sin(<w, c_i>) for coefficients of the record.
double wave(std::size_t i, std::span<const double> w) {
  double angle = 0.3 * static_cast<double>(i);
  for (std::size_t j = 0; j < w.size(); ++j) angle += std::cos(static_cast<double>(i + j)) * w[j];
  return std::sin(angle);
}

TEST(EvaluatedDifferences, OfOtherModelsAreThoseOfTheLossesAtTwoPoints) {
  constexpr std::size_t d = 700, K = 3;
  constexpr double xi = 0.01, l2 = 0.2;
  BlackBox objective(d, wave);
  const Records records = random_records({Storage::dense_f32, 20, 4, 0, LabelKind::real});
  const Values w = some_point(d, 1);
  Totals before;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 25}) {
    Frames frames(stiefel, d, K, key, bytes);
    frames.begin(5);
    ProjectedDifferences probe(objective, frames, {.radius = xi, .l2 = l2});
    EXPECT_FALSE(probe.linear());
    const Kernel kernel = probe.kernel(w);
    EXPECT_EQ(kernel.readings, 2 * K);
    Values along(K);
    frames.project(w, along);
    for (std::uint32_t i = 0; i < records.count; ++i) {
      Values expected(K);
      for (std::size_t k = 0; k < K; ++k) {
        const Values u = column(frames, k);
        // Not Values: g++ 12 drops the rounding to float of doubles that it stores as doubles, four at a time.
        std::vector<float> up(d), down(d);
        for (std::size_t j = 0; j < d; ++j) {
          const auto step = static_cast<double>(static_cast<float>(xi * u[j]));
          up[j] = static_cast<float>(w[j] + step), down[j] = static_cast<float>(w[j] - step);
        }
        expected[k] =
            (wave(i, Values(up.begin(), up.end())) - wave(i, Values(down.begin(), down.end()))) / (2 * xi) +
            l2 * along[k];
      }
      expect_contribution(kernel, records, i, expected, "wave ");
    }
    const Totals sums = totals(kernel, K, records, all_of(records), 4, fine);
    for (const std::size_t rows : {1, 7})
      EXPECT_EQ(totals(kernel, K, records, all_of(records), 4, fine, rows), sums);
    EXPECT_TRUE(before.empty() || sums == before) << "tile sizes";
    before = sums;
  }
}

// Both paths on the same model; the evaluated one rounds its points to float32.
TEST(EvaluatedDifferences, LinearAndEvaluatedOnesAgree) {
  constexpr std::size_t features = 50, K = 4;
  const Records records = random_records({Storage::dense_f32, 10, features, 1, LabelKind::sign});
  Glm glm_model({features, Storage::dense_f32, 1}, logistic_loss());
  BlackBox opaque(features + 1, [&](std::size_t i, std::span<const double> w) {
    double m = records.bias * w[features];
    for (std::size_t j = 0; j < features; ++j) m += feature(records, i, j) * w[j];
    return std::log1p(std::exp(-records.label[i] * m));
  });
  Frames frames(stiefel, features + 1, K, key);
  frames.begin(0);
  const Values w = some_point(features + 1, 1);
  ProjectedDifferences linear(glm_model, frames, {.radius = 0.1}), evaluated(opaque, frames, {.radius = 0.1});
  for (std::uint32_t i = 0; i < records.count; ++i) {
    const Values a = contribution(linear.kernel(w), K, records, i, 16);
    const Values b = contribution(evaluated.kernel(w), K, records, i, 16);
    for (std::size_t k = 0; k < K; ++k) EXPECT_NEAR(a[k], b[k], 2e-6);
  }
}

TEST(EvaluatedDifferences, ALossThatIsNotFiniteAtOnePointMakesTheRecordZero) {
  constexpr std::size_t d = 30, K = 3;
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    int calls = 0;
    BlackBox objective(
        d, [&](std::size_t i, std::span<const double> w) { return i == 1 && calls++ == 3 ? bad : wave(i, w); });
    const Records records = random_records({Storage::dense_f32, 3, 4, 0, LabelKind::real});
    Frames frames(stiefel, d, K, key);
    frames.begin(0);
    const Values w = some_point(d, 1);
    ProjectedDifferences probe(objective, frames, {.radius = 0.1});
    const std::uint32_t others[] = {0, 2};
    const Totals expected = totals(probe.kernel(w), K, records, others, 4, fine);
    EXPECT_EQ(totals(probe.kernel(w), K, records, all_of(records), 4, fine), expected);
    EXPECT_EQ(calls, 6);
  }
}

TEST(EvaluatedDifferences, RefuseBoundsThatTheyCannotEnforce) {
  BlackBox opaque(10, wave);
  Glm model({9, Storage::dense_f32, 1}, logistic_loss());
  Frames frames(stiefel, 10, 2, key);
  EXPECT_THROW(ProjectedDifferences(opaque, frames, {.feature_bound = 1}), ConfigError);
  EXPECT_THROW(ProjectedDifferences(opaque, frames, {.label_bound = 1}), ConfigError);
  EXPECT_THROW(ProjectedDifferences(model, frames, {.radius = 0}), ConfigError);
  EXPECT_THROW(ProjectedDifferences(model, frames, {.feature_bound = -1}), ConfigError);
  EXPECT_NO_THROW(ProjectedDifferences(model, frames, {.feature_bound = 1, .label_bound = 1}));
}

}  // namespace
}  // namespace dpmpi::test::evaluated_differences_test
