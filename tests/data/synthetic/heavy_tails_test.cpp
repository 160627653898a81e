#include "data/synthetic/heavy_tails.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace dpmpi::heavy_tails_test {
namespace {

Records make(const char* kind, std::int64_t features, std::uint64_t count, double moment = 2.5,
             bool skewed = false) {
  GenerateOptions options;
  options.kind = kind;
  options.features = features;
  options.moment = moment;
  options.skewed = skewed;
  options.probability = 0.02;
  return generate_records(options, 0, count);
}

// P(r > t) = t^-index at some t, and the scale that makes E r^2 = 1.
TEST(HeavyTails, RadiiArePareto) {
  constexpr std::uint64_t n = 20000;
  const Records mean = make("pareto-mean", 3, n, 3);
  for (const double t : {1.5, 3.0, 8.0}) {
    const double p = std::pow(t, -3);
    double above = 0;
    for (std::size_t i = 0; i < n; ++i) above += mean.row_f32(i)[0] > t;
    EXPECT_NEAR(above / n, p, 5 * std::sqrt(p / n)) << t;
  }
  EXPECT_GE(*std::min_element(mean.norm.begin(), mean.norm.end()), 1);
  const Records features = make("pareto-logistic", 400, 4000, 4);
  std::vector<float> norms = features.norm;  // r |g|, |g| = sqrt(400) up to 4 %
  std::nth_element(norms.begin(), norms.begin() + 2000, norms.end());
  EXPECT_NEAR(norms[2000] / 20 / (std::sqrt(2.25 / 4.25) * std::pow(2, 1 / 4.25)), 1, 0.03);
}

TEST(HeavyTails, LabelsFollowTheirModel) {
  constexpr std::uint64_t n = 40000;
  for (const bool skewed : {false, true}) {
    const Records r = make("pareto-logistic", 2, n, 2.5, skewed);
    const Records y = make("pareto-linear", 2, n, 2.5, skewed);
    double agree = 0, expected = 0, far = 0, follow = 0, positive = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double along = (r.row_f32(i)[0] - r.row_f32(i)[1]) / std::sqrt(2.0);
      if (!skewed) {
        agree += r.label[i] > 0;
        expected += 1 / (1 + std::exp(-along));
      }
      const double residual = y.label[i] - along;
      positive += residual > 0;
      if (y.norm[i] < 6) continue;
      ++far;
      follow += std::abs(residual) < 5;
    }
    if (!skewed) {
      EXPECT_NEAR(agree / n, expected / n, 4 * std::sqrt(0.25 / n));
    }
    EXPECT_NEAR(positive / n, 0.5, 4 * std::sqrt(0.25 / n));
    EXPECT_GT(far, 15);
    if (skewed) {
      EXPECT_LT(follow, 0.5 * far);
    } else {
      EXPECT_GT(follow, 0.9 * far);
    }
  }
}

// The quartile of Student-t with 3 degrees of freedom is 0.76489, with 2: 0.81650.
TEST(HeavyTails, NoiseIsStudentT) {
  for (const auto& [degrees, quartile] : {std::pair{3.0, 0.7648923}, {2.1, 0.8088}}) {
    const Records y = make("pareto-linear", 2, 40000, degrees - 0.1);
    double within = 0;
    for (std::size_t i = 0; i < y.count; ++i)
      within += std::abs(y.label[i] - (y.row_f32(i)[0] - y.row_f32(i)[1]) / std::sqrt(2.0)) < quartile;
    EXPECT_NEAR(within / static_cast<double>(y.count), 0.5, 5 * 0.5 / std::sqrt(static_cast<double>(y.count)));
  }
}

TEST(HeavyTails, TwoPointsHaveTheMomentOne) {
  const Records r = make("two-point", 8, 20000, 3);
  double filled = 0;
  for (std::size_t i = 0; i < r.count; ++i) {
    if (r.norm[i] == 0) continue;
    ++filled;
    EXPECT_NEAR(0.02 * std::pow(r.norm[i], 3), 1, 1e-5);
    EXPECT_EQ(r.row_f32(i)[3], -r.row_f32(i)[0]);
  }
  EXPECT_NEAR(filled / 20000, 0.02, 5 * std::sqrt(0.02 / 20000));
}

}  // namespace
}  // namespace dpmpi::heavy_tails_test
