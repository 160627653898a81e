#include "objective/values/smoothness.hpp"

#include <cmath>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/linear/glm.hpp"
#include "objective/linear/softmax.hpp"
#include "objective/math/weighted_loss.hpp"
#include "objective/network/mlp.hpp"
#include "objective/values/projected_differences.hpp"

namespace dpmpi::test::smoothness_test {
namespace {

constexpr std::size_t features = 30;
constexpr ObjectiveFacts facts{features, Storage::dense_f32, 1};
constexpr double Rx = 1.5, Y = 0.8, R = 2, xi = 0.5, radius = R + xi, lambda = 0.3;

Glm model(std::unique_ptr<ScalarLoss> loss, Storage storage = Storage::dense_f32) {
  return {{features, storage, 1}, std::move(loss)};
}

void expect(const Objective& objective, double l2, double M, double lower, double L, std::optional<double> T3) {
  const auto s = smoothness(objective, Rx, Y, radius, l2);
  ASSERT_TRUE(s.has_value());
  EXPECT_DOUBLE_EQ(s->M, M);
  EXPECT_DOUBLE_EQ(s->lower, lower);
  EXPECT_DOUBLE_EQ(s->L, L);
  ASSERT_EQ(s->T3.has_value(), T3.has_value());
  EXPECT_DOUBLE_EQ(s->T3.value_or(0), T3.value_or(0));
  EXPECT_EQ(s->convex, lower >= 0);
  EXPECT_DOUBLE_EQ(s->probe_error_fp, (2 * static_cast<double>(objective.dim()) + 64) * 0x1p-53 * (L + M * radius));
  EXPECT_FALSE(s->provenance.empty());
}

// The ball of radius R + xi, where the probes are, and never R.
TEST(Smoothness, HasTheConstantsOfItsTable) {
  const double sigmoid = 1 / (1 + std::exp(-Rx * radius)), third = 6 * std::sqrt(3.0);
  for (const double l2 : {0.0, lambda}) {
    const double ridge = l2 * radius;
    expect(model(logistic_loss()), l2, Rx * Rx / 4 + l2, l2, Rx * sigmoid + ridge, Rx * Rx * Rx / third);
    expect(model(squared_loss()), l2, Rx * Rx + l2, l2, Rx * (Rx * radius + Y) + ridge, 0.0);
    expect(model(huber_loss(0.4)), l2, Rx * Rx + l2, l2, 0.4 * Rx + ridge, {});
    expect(model(smoothed_hinge_loss()), l2, Rx * Rx + l2, l2, Rx + ridge, {});
    expect(model(sigmoid_loss()), l2, Rx * Rx / third + l2, -Rx * Rx / third + l2, Rx / 4 + ridge,
           Rx * Rx * Rx / 8);
    const double L = std::sqrt(2.0) * Rx + ridge;
    expect(SparseSoftmax({features, Storage::sparse_f32, 1}, 5), l2, Rx * Rx / 2 + l2, l2, L, {});
    expect(*make_mlp({.units = {features, 5}, .input_bias = 1, .head = Head::softmax}), l2, Rx * Rx / 2 + l2, l2, L,
           {});
  }
  // The largest weight of a class counts.
  expect(model(weighted_loss(logistic_loss(), 0.5, 13)), 0, 13 * Rx * Rx / 4, 0, 13 * Rx * sigmoid,
         13 * Rx * Rx * Rx / third);
  expect(SparseSoftmax({features, Storage::sparse_f32, 1}, 3, ClassWeights({1, 13, 2})), 0, 13 * Rx * Rx / 2, 0,
         13 * std::sqrt(2.0) * Rx, {});
  EXPECT_NEAR(smoothness(model(sigmoid_loss()), 1, 1, 1)->M, 0.0962250, 1e-7);
}

TEST(Smoothness, LipschitzConstantOfLeastSquaresCoversTheProbes) {
  const auto s = smoothness(model(squared_loss()), 1, 1, 1 + 0.5);  // R = 1, xi = 0.5
  EXPECT_DOUBLE_EQ(s->L, 1.5 + 1);
}

TEST(Smoothness, ProbeErrorIsTheSmallestKnownBound) {
  Smoothness s{.M = 4, .lower = 0, .convex = true};
  EXPECT_DOUBLE_EQ(s.probe_error(0.01), 4 * 0.01 / 4);
  s.lower = 1;
  EXPECT_DOUBLE_EQ(s.probe_error(0.01), 4 * 0.01 / 4);
  s.lower = -4;
  EXPECT_DOUBLE_EQ(s.probe_error(0.01), 4 * 0.01 / 2);
  s.T3 = 3;
  EXPECT_DOUBLE_EQ(s.probe_error(0.01), 3 * 1e-4 / 6);
  EXPECT_DOUBLE_EQ(s.probe_error(100), 4 * 100 / 2);
  s.probe_error_fp = 1e-3;
  EXPECT_DOUBLE_EQ(s.probe_error(0.01), 3 * 1e-4 / 6 + 1e-3);
}

TEST(Smoothness, IsUnknownWhereNobodyHasProvedIt) {
  EXPECT_FALSE(smoothness(model(absolute_loss()), Rx, Y, radius));
  EXPECT_FALSE(smoothness(model(capped_l1_loss(1)), Rx, Y, radius));
  EXPECT_FALSE(smoothness(model(phase_retrieval_loss()), Rx, Y, radius));
  EXPECT_FALSE(smoothness(model(ramp_loss()), Rx, Y, radius));
  EXPECT_FALSE(smoothness(*make_mlp({.units = {features, 4, 2}, .head = Head::softmax}), Rx, Y, radius));
  EXPECT_FALSE(smoothness(*make_mlp({.units = {features, 1}, .head = Head::ramp}), Rx, Y, radius));
}

TEST(Smoothness, RefusesBoundsThatAreMissing) {
  EXPECT_THROW(smoothness(model(logistic_loss()), 0, Y, radius), ConfigError);
  EXPECT_THROW(smoothness(model(logistic_loss()), Rx, Y, INFINITY), ConfigError);
  EXPECT_THROW(smoothness(model(squared_loss()), Rx, 0, radius), ConfigError);
  EXPECT_THROW(smoothness(model(logistic_loss()), Rx, Y, radius, -1), ConfigError);
  EXPECT_NO_THROW(smoothness(model(logistic_loss()), Rx, 0, radius));  // signs are bounded
}

struct Certified {
  const char* name;
  std::function<std::unique_ptr<Objective>(const ObjectiveFacts&)> make;
};

const Certified certified[] = {
    {"logistic", [](auto& f) { return std::make_unique<Glm>(f, logistic_loss()); }},
    {"squared", [](auto& f) { return std::make_unique<Glm>(f, squared_loss()); }},
    {"huber", [](auto& f) { return std::make_unique<Glm>(f, huber_loss(0.5)); }},
    {"smoothed_hinge", [](auto& f) { return std::make_unique<Glm>(f, smoothed_hinge_loss()); }},
    {"sigmoid", [](auto& f) { return std::make_unique<Glm>(f, sigmoid_loss()); }},
    {"weighted_sigmoid",
     [](auto& f) {
       return std::make_unique<Glm>(f, sigmoid_loss(), ClassWeights({0.5, 13}));
     }},
};

TEST(SmoothnessCheck, ProvedConstantsPassInEveryStorage) {
  for (const Certified& c : certified)
    for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32})
      for (const double bound : {0.5, 3.0})
        for (const double l2 : {0.0, lambda}) {
          const ObjectiveFacts shape{features, storage, 1};
          const auto objective = c.make(shape);
          const auto s = smoothness(*objective, bound, Y, radius, l2);
          ASSERT_TRUE(s) << c.name;
          EXPECT_NO_THROW(check_smoothness(*objective, shape, *s, bound, Y, radius, l2)) << c.name;
        }
  for (const Storage storage : {Storage::dense_f32, Storage::sparse_f32}) {
    const ObjectiveFacts shape{features, storage, 1};
    std::unique_ptr<Objective> objective =
        std::make_unique<SparseSoftmax>(ObjectiveFacts{features, Storage::sparse_f32, 1}, 4);
    if (storage == Storage::dense_f32) objective = make_mlp({.units = {features, 4}, .head = Head::softmax});
    const auto s = smoothness(*objective, Rx, Y, radius, lambda);
    ASSERT_TRUE(s);
    EXPECT_NO_THROW(check_smoothness(*objective, shape, *s, Rx, Y, radius, lambda));
  }
}

TEST(SmoothnessCheck, ConstantsThatAreTooGoodAreRefused) {
  for (const Certified& c : certified) {
    const auto objective = c.make(facts);
    const Smoothness s = *smoothness(*objective, Rx, Y, radius);
    const auto check = [&](const Smoothness& asserted) {
      check_smoothness(*objective, facts, asserted, Rx, Y, radius);
    };
    ASSERT_NO_THROW(check(s));
    Smoothness less = s;
    less.M *= 0.9;
    EXPECT_THROW(check(less), PrivacyError) << c.name << ": M";
    less = s;
    less.L *= 0.9;
    EXPECT_THROW(check(less), PrivacyError) << c.name << ": L";
    less = s;
    less.lower = s.lower < 0 ? 0.9 * s.lower : 0.1 * s.M;
    EXPECT_THROW(check(less), PrivacyError) << c.name << ": lower";
  }
}

// A network is not what anybody can prove, but whoever asserts constants for one is checked against its losses.
TEST(SmoothnessCheck, AssertedConstantsOfOtherModelsAreChecked) {
  const auto network = make_mlp({.units = {features, 4, 1}, .activation = Activation::tanh, .head = Head::squared});
  Smoothness asserted{.M = 0.01, .lower = -0.01, .L = 20};
  EXPECT_THROW(check_smoothness(*network, facts, asserted, 0, 0, radius), PrivacyError);
  asserted = {.M = 1e3, .lower = -1e3, .L = 20};
  EXPECT_NO_THROW(check_smoothness(*network, facts, asserted, 0, 0, radius));
}

}  // namespace
}  // namespace dpmpi::test::smoothness_test
