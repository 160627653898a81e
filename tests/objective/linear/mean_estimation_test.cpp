#include "objective/linear/mean_estimation.hpp"

#include <cmath>

#include "core/errors.hpp"
#include "objective/linear/glm.hpp"
#include "objective/linear/record_gradients.hpp"
#include "objective/linear/softmax.hpp"
#include "objective/objective_property.hpp"

namespace dpmpi::test::mean_estimation_test {
namespace {

Reference reference(const Records& r) {
  const auto entry = [&r](std::size_t i, std::size_t j) {
    return j < r.features ? feature(r, i, j) : static_cast<double>(r.bias);
  };
  return {[entry](std::size_t i, std::span<const double> w) {
            double sum = 0;
            for (std::size_t j = 0; j < w.size(); ++j) sum += std::pow(w[j] - entry(i, j), 2) / 2;
            return sum;
          },
          [entry](std::size_t i, std::span<const double> w, std::span<double> gradient) {
            for (std::size_t j = 0; j < w.size(); ++j) gradient[j] = w[j] - entry(i, j);
          }};
}

TEST(Mean, KeepsTheContract) {
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32})
    for (const float bias : {0.0F, 0.5F}) {
      Mean mean({13, storage, bias});
      const Records records = random_records({storage, 31, 13, bias, LabelKind::real});
      const auto u = random_directions(1, mean.dim(), 2);
      check_contract({.objective = mean,
                      .records = records,
                      .w = {u.begin(), u.end()},
                      .reference = reference(records),
                      .tolerance = 1e-5});
    }
}

/// Gradients of single records against finite differences of the losses, and their smoothness.
void check_gradients(Objective& objective, RecordGradients& gradients, const Records& records) {
  const std::size_t d = gradients.dim();
  std::vector<double> x(d), z(d), g(d), gz(d);
  std::mt19937_64 bits(5);
  std::normal_distribution<double> normal;
  for (double& v : x) v = normal(bits);
  AlignedVector<double> direction(round_up(d, 8), 0.0);
  for (std::uint32_t i = 0; i < records.count; ++i) {
    const std::uint32_t row[] = {i};
    gradients.gradient({records, row}, x, g);
    double along = 0;
    for (std::size_t j = 0; j < d; ++j) along += g[j] * (direction[j] = normal(bits));
    double up = 0, down = 0;
    objective.probes(x, {}).probe({records, row}, 1e-5, DirectionTile{direction.data(), 0, 1, direction.size()},
                                  {&up, 1}, {&down, 1});
    EXPECT_NEAR((up - down) / 2e-5, along, 1e-6 * std::max(1.0, std::abs(along)));
    for (std::size_t j = 0; j < d; ++j) z[j] = x[j] + direction[j];
    gradients.gradient({records, row}, z, gz);
    double moved = 0, distance = 0;
    for (std::size_t j = 0; j < d; ++j) {
      moved += (gz[j] - g[j]) * (gz[j] - g[j]);
      distance += direction[j] * direction[j];
    }
    EXPECT_LE(std::sqrt(moved), gradients.smoothness() * std::sqrt(distance) * (1 + 1e-12));
  }
}

TEST(RecordGradients, AreGradientsOfTheMean) {
  const ObjectiveFacts facts{7, Storage::dense_f32, 0};
  Mean mean(facts);
  const auto gradients = record_gradients(mean, facts, 0);
  EXPECT_EQ(gradients->smoothness(), 1);
  EXPECT_TRUE(gradients->clipping_contracts());
  check_gradients(mean, *gradients, random_records({Storage::dense_f32, 20, 7, 0, LabelKind::real}));
}

TEST(RecordGradients, AreGradientsOfSoftmax) {
  const ObjectiveFacts facts{7, Storage::sparse_f32, 1};
  SparseSoftmax softmax(facts, 4);
  const Records records = random_records({Storage::sparse_f32, 20, 7, 1, LabelKind::class_, 4});
  const auto gradients = record_gradients(softmax, facts, 100);  // beyond every record
  EXPECT_EQ(gradients->smoothness(), 5000);
  check_gradients(softmax, *gradients, records);
}

TEST(RecordGradients, AreGradientsOfSoftmaxWithClassWeights) {
  const ObjectiveFacts facts{7, Storage::sparse_f32, 1};
  SparseSoftmax softmax(facts, 4, ClassWeights({1, 13, 0.25, 5}));
  const Records records = random_records({Storage::sparse_f32, 20, 7, 1, LabelKind::class_, 4});
  const auto gradients = record_gradients(softmax, facts, 100);
  EXPECT_EQ(gradients->smoothness(), 13 * 5000);
  check_gradients(softmax, *gradients, records);
}

TEST(RecordGradients, ShrinkRecordsToTheBound) {
  const ObjectiveFacts facts{7, Storage::sparse_f32, 0};
  const SparseSoftmax softmax(facts, 3);
  Records records = random_records({Storage::sparse_f32, 20, 7, 0, LabelKind::class_, 3});
  const auto gradients = record_gradients(softmax, facts, 0.5);
  std::vector<double> x(21, 0.1), g(21);
  for (std::uint32_t i = 0; i < records.count; ++i) {
    const std::uint32_t row[] = {i};
    gradients->gradient({records, row}, x, g);
    EXPECT_LE(norm_of(g), std::sqrt(2.0) * 0.5);
  }
  EXPECT_FALSE(gradients->clipping_contracts());
}

TEST(RecordGradients, OfRecordsThatDoNotCountAreZero) {
  const ObjectiveFacts facts{5, Storage::dense_f32, 0};
  const Mean mean(facts);
  Records records = random_records({Storage::dense_f32, 3, 5, 0, LabelKind::real});
  empty_slot(records, 0);
  ASSERT_TRUE(spoil_feature(records, 1, std::numeric_limits<float>::quiet_NaN()));
  const auto gradients = record_gradients(mean, facts, 0);
  std::vector<double> x(5, 1.0), g(5, 9.0);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const std::uint32_t row[] = {i};
    gradients->gradient({records, row}, x, g);
    EXPECT_EQ(norm_of(g), 0);
  }
}

TEST(RecordGradients, RefuseLossesWithoutACertifiedConstant) {
  const ObjectiveFacts facts{5, Storage::sparse_f32, 0};
  const Glm glm(facts, logistic_loss());
  EXPECT_THROW(record_gradients(glm, facts, 1), ConfigError);
  const SparseSoftmax softmax(facts, 3);
  EXPECT_THROW(record_gradients(softmax, facts, 0), ConfigError);
}

std::vector<double> clipped(std::vector<double> g, double clip) {
  const double factor = std::min(1.0, clip / norm_of(g));
  for (double& v : g) v *= factor;
  return g;
}

// A11: steps v -> v - g of two runs keep their distance 3; with g and h clipped to norm 1 it grows to 3.4217682.
TEST(RecordGradients, ClippingBreaksContractionInTwoDimensions) {
  const double root = std::sqrt(7.0);
  const std::vector<double> v{-3, 0}, g{1, 0}, h{root * root / 4, root * 0.75};
  const auto apart = [&](const std::vector<double>& a, const std::vector<double>& b) {
    return std::hypot(v[0] - (a[0] - b[0]), v[1] - (a[1] - b[1]));
  };
  EXPECT_NEAR(norm_of(v), 3, 1e-7);
  EXPECT_NEAR(apart(g, h), 3, 1e-7);
  EXPECT_NEAR(apart(clipped(g, 1), clipped(h, 1)), 3.4217682, 1e-7);
}

// A11 on a real loss: clipped steps of softmax regression may part two runs; those of the mean never do.
TEST(RecordGradients, ClippedStepsOfSoftmaxExpandAndThoseOfTheMeanDoNot) {
  const ObjectiveFacts facts{2, Storage::sparse_f32, 0};
  const SparseSoftmax softmax(facts, 3);
  const Mean mean(facts);
  const auto of_softmax = record_gradients(softmax, facts, 1), of_mean = record_gradients(mean, facts, 0);
  const Records labelled = random_records({Storage::sparse_f32, 8, 2, 0, LabelKind::class_, 3});
  std::mt19937_64 bits(11);
  const auto largest_factor = [&](RecordGradients& gradients) {
    std::normal_distribution<double> normal(0, 2);
    std::uniform_real_distribution<double> clips(0.05, 1);
    const double step = 1.5 / gradients.smoothness();
    double worst = 0;
    std::vector<double> x(gradients.dim()), z(gradients.dim()), g(x), h(x);
    for (int trial = 0; trial < 20000; ++trial) {
      const std::uint32_t row[] = {static_cast<std::uint32_t>(bits() % labelled.count)};
      for (double& c : x) c = normal(bits);
      for (std::size_t j = 0; j < z.size(); ++j) z[j] = x[j] + normal(bits) / 4;
      gradients.gradient({labelled, row}, x, g);
      gradients.gradient({labelled, row}, z, h);
      if (norm_of(g) == 0) continue;
      const double clip = clips(bits);
      const auto a = clipped(g, clip), b = clipped(h, clip);
      double before = 0, after = 0;
      for (std::size_t j = 0; j < z.size(); ++j) {
        before += std::pow(x[j] - z[j], 2);
        after += std::pow(x[j] - z[j] - step * (a[j] - b[j]), 2);
      }
      worst = std::max(worst, std::sqrt(after / before));
    }
    return worst;
  };
  EXPECT_GT(largest_factor(*of_softmax), 1.0001);
  EXPECT_LE(largest_factor(*of_mean), 1 + 1e-12);
}

}  // namespace
}  // namespace dpmpi::test::mean_estimation_test
