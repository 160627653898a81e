#include "method/heavy_tailed/proximal_descent.hpp"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/numbers/random.hpp"

namespace dpmpi::proximal_descent_test {
namespace {

ProximalDescent make(const std::map<std::string, std::string>& settings, const std::vector<float>& center,
                     std::uint64_t steps) {
  ProximalSettings chosen;
  Options options("method");
  chosen.declare(options);
  Settings values;
  for (const auto& [key, value] : settings) values["method." + key] = {value, "test"};
  std::vector<std::string> problems;
  options.read(values, problems);
  chosen.validate(problems);
  EXPECT_TRUE(problems.empty());
  return {chosen, center, steps};
}

// A17: the step is the minimum of <g, x> + (lambda/2) |x - x_0|^2 + |x - x_t|^2 / (2 eta) over the ball: no point
// of the ball nearby, in any direction, has a smaller value.
TEST(ProximalDescent, StepIsTheMinimumOverTheBall) {
  const PublicStream stream(3, "proximal test");
  std::size_t inside = 0, outside = 0;
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    std::vector<double> normal(16);
    stream.normals(16 * trial, normal);
    const double lambda = std::exp(normal[9]), radius = 0.5 * std::exp(normal[10]);
    const std::vector<float> center{0.25f, -1, 3};
    auto descent =
        make({{"lambda", std::to_string(lambda)}, {"rate", "0.5"}, {"radius", std::to_string(radius)}}, center, 10);
    std::vector<double> z(3, 0.0);
    for (std::uint64_t t = 0; t < 3; ++t) {
      const std::vector<float> g{static_cast<float>(normal[t]), static_cast<float>(normal[t + 3]), 1};
      descent.update(g, 2, t);
      const double eta = descent.step_size(t), l = std::stod(std::to_string(lambda)),
                   r = std::stod(std::to_string(radius));
      const auto value = [&](const std::vector<double>& at) {
        double sum = 0;
        for (std::size_t j = 0; j < 3; ++j)
          sum += 2 * g[j] * at[j] + l / 2 * at[j] * at[j] + (at[j] - z[j]) * (at[j] - z[j]) / (2 * eta);
        return sum;
      };
      // The minimum by bisection of the multiplier of the ball, from its first-order conditions.
      const auto minimiser = [&](double multiplier) {
        std::vector<double> at(3);
        for (std::size_t j = 0; j < 3; ++j) at[j] = (z[j] / eta - 2 * g[j]) / (1 / eta + l + multiplier);
        return at;
      };
      const auto length = [](const std::vector<double>& v) { return std::hypot(v[0], v[1], v[2]); };
      double low = 0, high = 1e6;
      for (int i = 0; i < 200; ++i) {
        const double middle = (low + high) / 2;
        (length(minimiser(middle)) > r ? low : high) = middle;
      }
      const auto best = length(minimiser(0)) <= r ? minimiser(0) : minimiser(high);
      (length(minimiser(0)) <= r ? inside : outside) += 1;
      for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(descent.point()[j] - center[j], best[j], 4e-7) << trial;
      EXPECT_LE(value(best), value(z) + 1e-12);
      z = best;
    }
  }
  EXPECT_GT(inside, 100u);
  EXPECT_GT(outside, 100u);
}

// A17: weights t + 4 for x_0 .. x_{T-1}; the last iterate is not part of the mean.
TEST(ProximalDescent, WeightedMeanLeavesOutTheLastIterate) {
  auto descent = make({{"average", "weighted"}, {"rate", "1"}}, {0.0f}, 5);
  double x = 0, sum = 0, weights = 0;
  EXPECT_EQ(descent.published()[0], 0);
  for (std::uint64_t t = 0; t < 5; ++t) {
    sum += (static_cast<double>(t) + 4) * x, weights += static_cast<double>(t) + 4;
    const std::vector<float> g{t == 4 ? 1e6f : static_cast<float>(1 + t)};
    x -= g[0];
    descent.update(g, 1, t);
    EXPECT_NEAR(descent.published()[0], sum / weights, 1e-6);
  }
  EXPECT_EQ(weights, 5 * (5 + 7) / 2.0);  // Z = T (T + 7) / 2
}

TEST(ProximalDescent, SuffixIsTheMeanOfTheSecondHalf) {
  for (const std::uint64_t steps : {1u, 2u, 5u, 8u}) {
    auto descent = make({{"average", "suffix"}, {"rate", "1"}}, {0.0f}, steps);
    std::vector<double> x{0};
    for (std::uint64_t t = 0; t < steps; ++t) {
      descent.update(std::vector<float>{static_cast<float>(t * t)}, -1, t);
      x.push_back(x.back() + static_cast<double>(t * t));
      double mean = 0;
      for (std::uint64_t i = steps / 2 + 1; i <= t + 1; ++i) mean += x[i] / static_cast<double>(t + 1 - steps / 2);
      EXPECT_NEAR(descent.published()[0], t < steps / 2 ? x.back() : mean, 1e-5) << steps << " " << t;
    }
  }
}

TEST(ProximalDescent, StepSizesAreThoseOfTheTheoremOrTheRate) {
  EXPECT_DOUBLE_EQ(make({{"rate", "0"}, {"lambda", "0.5"}}, {0}, 9).step_size(3), 2);
  EXPECT_DOUBLE_EQ(make({{"rate", "1"}, {"lambda", "0.5"}}, {0}, 9).step_size(3), 1);
  EXPECT_DOUBLE_EQ(make({{"rate", "1"}, {"lambda", "0.5"}}, {0}, 9).step_size(15), 0.5);
  EXPECT_DOUBLE_EQ(make({{"rate", "3"}}, {0}, 9).step_size(1000), 3);
  ProximalSettings settings;
  Options options("method");
  settings.declare(options);
  std::vector<std::string> problems;
  options.read({{"method.rate", {"0", "test"}}}, problems);
  settings.validate(problems);
  EXPECT_EQ(problems.size(), 1u);
}

}  // namespace
}  // namespace dpmpi::proximal_descent_test
