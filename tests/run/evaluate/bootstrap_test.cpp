// Intervals by resampling: what they are made of, and that they cover what they should.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/numbers/random.hpp"
#include "run/evaluate/bootstrap.hpp"

namespace dpmpi::bootstrap_test {
namespace {

double mean_of(const std::vector<double>& x, Weights weights) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += weights[i] * x[i], count += weights[i];
  return sum / count;
}

std::optional<Interval> of_mean(const std::vector<double>& x, std::int64_t resamples) {
  return bootstrap_intervals(x.size(), 1, resamples, [&](Weights weights, std::span<double> values) {
    values[0] = mean_of(x, weights);
  })[0];
}

TEST(Bootstrap, EachRecordCountsAPoissonNumberOfTimes) {
  std::vector<std::uint8_t> weights(100'000);
  double sum = 0, squares = 0, none = 0, beside = 0, before = 0;
  for (const std::int64_t resample : {0, 1, 2, 3})
    for (draw_weights(resample, weights); const std::uint8_t weight : weights) {
      sum += weight, squares += weight * weight, none += weight == 0, beside += weight * before, before = weight;
    }
  const double n = 400'000;
  EXPECT_NEAR(sum / n, 1, 0.006);
  EXPECT_NEAR(squares / n, 2, 0.03);
  EXPECT_NEAR(none / n, std::exp(-1), 0.003);
  EXPECT_NEAR(beside / n, 1, 0.01) << "neighbours are independent";
}

TEST(Bootstrap, DrawsOfARecordDependOnNothingElse) {
  std::vector<std::uint8_t> many(5000), few(1025), again(5000);
  draw_weights(7, many), draw_weights(7, few);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  draw_weights(8, again);
  EXPECT_NE(many, again);
}

TEST(Bootstrap, IntervalsAreBetweenPercentiles) {
  double next = 0;
  const auto interval = bootstrap_intervals(1, 1, 201, [&](Weights, std::span<double> values) {
    values[0] = std::fmod(next * 77, 201);  // 0 .. 200 in some order
    ++next;
  })[0];
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->first, 5);
  EXPECT_DOUBLE_EQ(interval->second, 195);
}

TEST(Bootstrap, ResamplesWithoutTheMetricAreLeftOut) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  int next = 0;
  const auto intervals = bootstrap_intervals(1, 2, 199, [&](Weights, std::span<double> values) {
    values[0] = next % 2 == 0 ? 3 : none, values[1] = next % 2 == 1 ? 3 : none;
    ++next;
  });
  ASSERT_TRUE(intervals[0]) << "100 of 199 have it";
  EXPECT_EQ(*intervals[0], Interval(3, 3));
  EXPECT_FALSE(intervals[1]) << "99 of 199 have it";
}

// Of 400 samples of 100 numbers some 95 % have the mean in their interval: 0.93 is the usual for skewed numbers.
TEST(Bootstrap, IntervalsCoverTheTruth) {
  const PublicStream stream(4, "samples");
  constexpr int samples = 400, records = 100;
  int covered = 0;
  double width = 0;
  for (int s = 0; s < samples; ++s) {
    std::vector<double> x(records);
    for (int i = 0; i < records; ++i)
      x[static_cast<std::size_t>(i)] = -std::log(stream.uniform(static_cast<std::uint64_t>(s * records + i)));
    const auto interval = of_mean(x, 300);
    ASSERT_TRUE(interval);
    covered += interval->first <= 1 && 1 <= interval->second;
    width += (interval->second - interval->first) / samples;
  }
  EXPECT_GE(covered, 0.90 * samples);
  EXPECT_LE(covered, 0.98 * samples);
  EXPECT_NEAR(width, 2 * 1.96 / std::sqrt(records), 0.04);
}

}  // namespace
}  // namespace dpmpi::bootstrap_test
