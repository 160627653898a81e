// Plans of the one-pass methods, aggregation and projections.
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "method/ball.hpp"
#include "method/heavy_tailed/aggregate.hpp"
#include "method/heavy_tailed/one_pass_plan.hpp"
#include "method/heavy_tailed/smooth_phase.hpp"
#include "problems/printed_heavy_tails.hpp"
#include "support/close.hpp"

namespace dpmpi::one_pass_plan_test {
namespace {

using test::expect_close;

HeavyTailProblem problem(double records, double dim, double order, double second, double moment, double diameter,
                         double rho) {
  HeavyTailProblem p;
  p.records = records, p.dim = dim, p.diameter = diameter, p.mu = std::sqrt(2 * rho);
  p.tail = {order, second, second, moment};
  return p;
}
const HeavyTailProblem first = problem(131072, 50, 4, 1, 2, 2, 0.05);
const HeavyTailProblem second = problem(1 << 20, 1000, 2, 1, 1, 1, 0.1);

// A20
TEST(HeavyTailAggregate, NumberOfFolds) {
  constexpr double failure = 6.25e-8;
  EXPECT_EQ(folds_for(0.55, failure), 4327U);
  EXPECT_EQ(folds_for(0.6, failure), 837U);
  EXPECT_EQ(folds_for(0.75, failure), 105U);
  EXPECT_EQ(folds_for(0.9, failure), 27U);
  EXPECT_EQ(folds_for(0.6, 0.01), 171U);
  EXPECT_EQ(folds_for(0.75, 0.01), 19U);
  EXPECT_EQ(folds_for(0.9, 0.01), 5U);
  EXPECT_THROW(folds_for(0.51, 0.01), ConfigError);
  EXPECT_THROW(folds_for(0.5101, 1e-12), ConfigError);
  EXPECT_EQ(majority(1), 1U);
  EXPECT_EQ(majority(100), 51U);
  EXPECT_EQ(majority(101), 52U);
}
// A19
TEST(HeavyTailAggregate, SmallestMajorityBall) {
  const std::vector<double> points = {0, 0, 1, 0, 0, 1, 10, 10, 0.5, 0.5};
  const Aggregate found = aggregate(points, 2);
  EXPECT_EQ(found.index, 4U);
  EXPECT_NEAR(found.radius, 0.70710678, 1e-8);
  EXPECT_EQ(aggregate(std::vector<double>{3, 4}, 2).radius, 0);
}
// A19, T14: 49 % of the points are anywhere, also all at one place far off.
TEST(HeavyTailAggregate, ToleratesAMinority) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t folds = 1 + random() % 41, dim = 1 + random() % 5, good = majority(folds);
    const double far = std::pow(10.0, static_cast<double>(random() % 7));
    std::vector<double> points(folds * dim), centre(dim);
    for (double& c : centre) c = normal(random);
    for (std::size_t j = 0; j < folds; ++j) {
      std::span<double> point(points.data() + j * dim, dim);
      double squared = 0;
      for (double& x : point) {
        x = normal(random);
        squared += x * x;
      }
      for (std::size_t i = 0; i < dim; ++i)
        point[i] = centre[i] + (j < good ? point[i] / std::sqrt(squared) : trial % 2 ? far : far * point[i]);
    }
    const Aggregate found = aggregate(points, dim);
    double distance = 0;
    for (std::size_t i = 0; i < dim; ++i) distance += std::pow(points[found.index * dim + i] - centre[i], 2);
    EXPECT_LE(std::sqrt(distance), 3 * (1 + 1e-9));
    EXPECT_LE(found.radius, 2 * (1 + 1e-9));
  }
}

// Theorem 4's: twice what the budget asks for.
double printed_noise(const HeavyTailProblem& p, const printed::OnePass& plan, double phase) {
  return 4 * plan.eta * plan.clip * std::pow(8, -phase) / p.mu;
}

// A21
TEST(HeavyTailOnePass, Printed) {
  const auto a = printed::one_pass(first), b = printed::one_pass(second);
  expect_close(a.eta, 0.0016570478, 1e-7);
  expect_close(a.clip, 9.5419026, 1e-7);
  expect_close(printed_noise(first, a, 1), 0.025, 1e-6);
  expect_close(printed_noise(first, a, 2), 0.003125, 1e-6);
  expect_close(printed_noise(first, a, 3), 0.000390625, 1e-6);
  expect_close(a.most_smoothness, 253.73331, 1e-7);
  expect_close(b.eta, 6.9053397e-5, 1e-7);
  expect_close(b.clip, 36.203867, 1e-7);
  expect_close(printed_noise(second, b, 1), 0.0027950850, 1e-7);
  expect_close(b.most_smoothness, 10240, 1e-7);
}
// A8: the printed noise spends a quarter of its budget.
TEST(HeavyTailOnePass, PrintedNoiseIsTwiceTooLarge) {
  for (const auto& p : {first, second}) {
    const auto plan = printed::one_pass(p);
    for (const double phase : {1.0, 2.0, 5.0}) {
      const double sensitivity = 2 * plan.eta * std::pow(16, -phase) * plan.clip * std::pow(2, phase);
      EXPECT_DOUBLE_EQ(std::pow(sensitivity / printed_noise(p, plan, phase), 2) / 2, p.rho() / 4);
    }
  }
}
// A21
TEST(HeavyTailOnePass, Plan) {
  const OnePassPlan a = plan_one_pass(first, {}), b = plan_one_pass(second, {});
  expect_close(a.eta, 0.0011594560, 1e-6);
  expect_close(a.clip, 6.7329083, 1e-6);
  expect_close(a.phases[0].noise, 0.049372712, 1e-6);
  expect_close(a.bound, 0.069746567, 1e-8);
  EXPECT_EQ(a.phases.size(), 13U);
  expect_close(b.eta, 5.2888534e-5, 1e-6);
  expect_close(b.clip, 23.615158, 1e-6);
  expect_close(b.phases[0].noise, 0.0055855686, 1e-6);
  expect_close(b.bound, 0.072066669, 1e-8);
  expect_close(printed::one_pass(first).bound, 0.510657, 1e-5);
  EXPECT_GT(printed::one_pass(second).bound, 5 * b.bound);
}
TEST(HeavyTailOnePass, PlanIsTheMinimum) {
  for (const double n : {10.0, 1e4, 1e12})
    for (const double moment : {1e-8, 1.0, 1e8})
      for (const double order : {1.1, 2.0, 20.0}) {
        const auto p = problem(n, 1000, order, moment, moment, 3, 1e-3);
        const OnePassPlan plan = plan_one_pass(p, {});
        expect_close(one_pass_bound(p, {}, plan.phases.size(), plan.eta, plan.clip), plan.bound, 1e-12);
        for (const double x : {0.999, 1.001})
          for (const double y : {0.999, 1.0, 1.001})
            EXPECT_GT(one_pass_bound(p, {}, plan.phases.size(), plan.eta * x, plan.clip * y), plan.bound);
      }
}
// T5: phases do not overlap, whatever n is. Every phase pays for exactly its own sensitivity.
TEST(HeavyTailOnePass, PhasesAreDisjoint) {
  for (const double n : {4.0, 5.0, 1000.0, 131077.0})
    for (const std::uint64_t batch : {1ULL, 2ULL, 64ULL}) {
      if (static_cast<double>(batch) * 4 > n) continue;
      OnePassRule rule;
      rule.phases = 60, rule.batch = batch;
      const auto p = problem(n, 10, 3, 1, 1, 1, 0.5);
      std::uint64_t next = 0;
      double clip_step = 2 * 0.01 * 3;
      const auto phases = one_pass_phases(p, rule, 0.01, 3);
      ASSERT_FALSE(phases.empty());
      for (const OnePassPhase& phase : phases) {
        EXPECT_EQ(phase.first, next);
        next += phase.records;
        EXPECT_GE(phase.steps, 2U);
        EXPECT_LE(phase.steps * phase.batch, phase.records);
        expect_close(2 * phase.step * phase.clip / static_cast<double>(phase.batch), clip_step, 1e-12);
        expect_close(phase.sensitivity, clip_step, 1e-12);
        expect_close(phase.noise, clip_step / p.mu, 1e-12);
        clip_step *= std::numbers::sqrt2 / 8;
      }
      EXPECT_LE(next, static_cast<std::uint64_t>(n));
    }
  EXPECT_THROW(plan_one_pass(problem(3, 10, 3, 1, 1, 1, 0.5), {}), ConfigError);
}
TEST(HeavyTailOnePass, RoundingCutsPhasesAndIsCharged) {
  const auto p = problem(std::exp2(24), 100, 3, 1, 1, 1, 0.5);
  OnePassRule rule;
  rule.reach = 1;
  rule.step_error = [](double step, double clip, std::uint64_t batch) {
    return 132 * 0x1p-53 + (static_cast<double>(batch) + 32) * 0x1p-53 * step * clip;
  };
  const OnePassPlan plan = plan_one_pass(p, rule);
  EXPECT_LT(plan.phases.size(), 20U);
  EXPECT_GE(plan.phases.size(), 5U);
  double last_share = 0;
  for (const OnePassPhase& phase : plan.phases) {
    const double exact = 2 * phase.step * phase.clip,
                 rounding = 2 * static_cast<double>(phase.steps) * rule.step_error(phase.step, phase.clip, 1);
    EXPECT_DOUBLE_EQ(phase.sensitivity, exact + rounding);
    last_share = rounding / exact;
    EXPECT_LE(last_share, 0.01);
    EXPECT_GE(phase.noise, 0x1p20 * 0x1p-52);
  }
  rule.phases = plan.phases.size() + 1;
  EXPECT_EQ(one_pass_phases(p, rule, plan.eta, plan.clip).size(), plan.phases.size());
  rule.step_error = [](double, double, std::uint64_t) { return 1.0; };
  EXPECT_THROW(plan_one_pass(p, rule), ConfigError);
}
TEST(HeavyTailOnePass, AddRemoveHalvesTheSensitivity) {
  auto p = first;
  p.change = 1;
  EXPECT_DOUBLE_EQ(one_pass_phases(p, {}, 0.01, 3)[0].sensitivity, 0.01 * 3);
  EXPECT_EQ(largest_batch(0.001, 5), 100U);
  EXPECT_EQ(largest_batch(1, 5), 1U);
  OnePassRule rule;
  rule.clip_growth = 2;  // 8 = 2 b^2: the noise of late phases would not be summable
  EXPECT_THROW(plan_one_pass(first, rule), ConfigError);
}

// A14
struct GuardedRow {
  double records, hits, rho, count_noise;
  std::uint64_t most_hits, tests;
  double test_epsilon, most_curvature, noise;
};
TEST(HeavyTailSmooth, GuardedPhase) {
  for (const GuardedRow& row :
       {GuardedRow{0x1p19, 400, 0.0166, 24.544035, 573, 1411, 0.0024253564, 6.0262683e-6, 16.455898},
        GuardedRow{0x1p22, 1000, 0.1, 10, 1071, 2498, 0.0044739259, 1.0486520e-5, 6.7569947},
        GuardedRow{0x1p16, 200, 0.35, 5.3452248, 238, 660, 0.016283474, 4.2389615e-5, 3.6076421}}) {
    const GuardedPhase phase = plan_guarded_phase(row.records, row.hits, row.rho);
    expect_close(phase.count_noise, row.count_noise, 1e-7);
    EXPECT_EQ(phase.most_hits, row.most_hits);
    EXPECT_EQ(phase.tests, row.tests);
    expect_close(phase.test_epsilon, row.test_epsilon, 1e-7);
    expect_close(phase.most_curvature, row.most_curvature, 1e-7);
    const double eta = 1e-3, clip = 7, beta = phase.most_curvature / eta;
    EXPECT_GE(phase.slack(eta, clip, 0.999 * beta), 1);
    EXPECT_LT(phase.slack(eta, clip, 1.001 * beta), 1);
    expect_close(phase.noise(eta, clip, beta) / (clip * eta), row.noise, 1e-7);
    expect_close(phase.test_scale(eta, clip, beta) * std::log(row.records / 2e-12), 0.25 * clip, 1e-9);
  }
}
TEST(HeavyTailSmooth, BatchesAddHitsAndKeepTheNormOfAStep) {
  const GuardedPhase one = plan_guarded_phase(0x1p19, 400, 0.0166),
                     many = plan_guarded_phase(0x1p19, 400, 0.0166, 64);
  EXPECT_GT(many.tests, one.tests);
  EXPECT_EQ(many.most_hits, one.most_hits);
  const GuardedPhase huge = plan_guarded_phase(0x1p19, 1, 1e4, 1 << 19);
  EXPECT_GE(huge.slack(1, 7, huge.most_curvature * 0.999), 1);
  EXPECT_LT(huge.slack(1, 7, 2.01 / (1 << 19)), 1);
}
TEST(HeavyTailSmooth, Unguarded) {
  expect_close(unguarded_sensitivity(2, 1, 1, 0x1p-19, 1, 1 << 19) / std::sqrt(2 * 0.0166), 29.836934, 1e-7);
  EXPECT_DOUBLE_EQ(unguarded_sensitivity(2, 0.5, 3, 0, 8, 1000), 3);
  EXPECT_DOUBLE_EQ(unguarded_sensitivity(1, 0.5, 3, 0.25, 8, 3), 1.5 * 4);
}
TEST(HeavyTailSmooth, Budget) {
  const double rho = guarded_rho(1, 1e-6, 1e-12);
  EXPECT_LE(guarded_delta(rho, 1, 1e-12), 1e-6);
  EXPECT_GT(guarded_delta(rho * (1 + 1e-9), 1, 1e-12), 1e-6);
  expect_close(rho, 0.02435597, 1e-4);  // that of delta alone, without the failures
  EXPECT_THROW(guarded_rho(8, 1e-9, 1e-12), PrivacyError);
  EXPECT_NEAR(enough_hits(1000, 2000, 2, 3, 60, 0.25), 2000 * std::pow(1.0 / 15, 2) + 24 * std::log(2000), 1e-9);
}
}  // namespace
}  // namespace dpmpi::one_pass_plan_test
