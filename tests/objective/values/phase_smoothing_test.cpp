#include "problems/phase_smoothing.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace dpmpi::test::phase_smoothing_test {
namespace {

TEST(PhaseSmoothing, HasItsPublishedValues) {
  const double expected[][2] = {
      {-1.2, -0.910281253}, {-0.9, 0.588318987}, {0.3, -0.993387683}, {0.95, -0.316228056}, {1.3, 0.993387683}};
  for (const auto& [v, slope] : expected) EXPECT_NEAR(smoothed_phase_slope(v, 1, 0.5, 16), slope, 1e-8) << v;
}

TEST(PhaseSmoothing, IsOddAndVanishesAtZero) {
  EXPECT_EQ(smoothed_phase_slope(0, 1, 0.5, 16), 0);
  for (double v = 0; v < 2; v += 0.07)
    EXPECT_NEAR(smoothed_phase_slope(v, 0.8, 0.4, 5), -smoothed_phase_slope(-v, 0.8, 0.4, 5), 1e-14) << v;
}

// Away from the kinks at 0 and +-b smoothing changes nothing.
TEST(PhaseSmoothing, IsTheSlopeItselfAwayFromKinks) {
  EXPECT_EQ(smoothed_phase_slope(3, 1, 0.5, 16), 1);
  EXPECT_EQ(smoothed_phase_slope(0.5, 1, 0.4, 16), -1);
  EXPECT_EQ(smoothed_phase_slope(-0.5, 1, 0.4, 16), 1);
  EXPECT_EQ(smoothed_phase_slope(-3, 1, 0.5, 16), -1);
}

// In one dimension the ball is an interval: the slope is the mean of -1 and 1 over it.
TEST(PhaseSmoothing, IsTheMeanSlopeInOneDimension) {
  EXPECT_NEAR(smoothed_phase_slope(1, 1, 0.5, 1), 0, 1e-12);
  EXPECT_NEAR(smoothed_phase_slope(1.25, 1, 0.5, 1), 0.5, 1e-12);
  EXPECT_NEAR(smoothed_phase_slope(0.1, 1, 0.5, 1), -0.2, 1e-12);
}

}  // namespace
}  // namespace dpmpi::test::phase_smoothing_test
