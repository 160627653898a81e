// What noisy counts say of a column's size, and that no column makes them say nonsense.
#include "run/preparation/size_cells.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace dpmpi::size_cells_test {
namespace {

/// The three rounds over these values with noise from a seed.
struct Rounds {
  Bounds first, last;
  Scale scale;
  Rounds(const std::vector<double>& values, double noise_std, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, 1);
    const auto counted = [&](std::size_t cells, const std::function<std::size_t(double)>& cell_of) {
      std::vector<double> counts(cells);
      for (double& count : counts) count = noise_std * noise(random);
      for (const double x : values)
        if (const std::size_t cell = cell_of(x); cell < cells) counts[cell] += 1;
      return counts;
    };
    const auto even = [&](const Bounds& bounds) {
      return counted(EvenCells::count, [&](double x) {
        return is_missing_number(x) ? EvenCells::count : EvenCells::cell(bounds, x);
      });
    };
    first = bounds_of_octaves(counted(OctaveCells::count, OctaveCells::cell), noise_std);
    last = narrowed(first, even(first), noise_std);
    scale = scale_of(first, last, even(last), noise_std);
  }
};

std::vector<double> normals(std::size_t n, double mean, double deviation) {
  std::mt19937 random(7);
  std::normal_distribution<double> law(mean, deviation);
  std::vector<double> values(n);
  for (double& x : values) x = law(random);
  return values;
}

TEST(SizeCells, OctavesCoverAllNumbersInOrder) {
  EXPECT_EQ(OctaveCells::cell(missing_number), OctaveCells::missing);
  EXPECT_EQ(OctaveCells::cell(0), OctaveCells::zero);
  for (std::size_t cell = 1; cell < OctaveCells::count; ++cell) {
    const Bounds bounds = OctaveCells::bounds(cell);
    EXPECT_EQ(OctaveCells::cell(0.5 * (bounds.low + bounds.high)), cell);
    if (cell == 1) continue;
    EXPECT_EQ(OctaveCells::bounds(cell - 1).high, bounds.low);
  }
  EXPECT_EQ(OctaveCells::cell(-missing_number), OctaveCells::count - 1);
  EXPECT_EQ(OctaveCells::cell(std::numeric_limits<double>::denorm_min()), OctaveCells::zero);
}

TEST(SizeCells, FindTheScaleOfNormalsOfAnySize) {
  for (const auto& [mean, deviation] :
       {std::pair{0.0, 1.0}, {40.0, 13.0}, {-3e-4, 1e-4}, {2e9, 3e8}, {100.0, 12.0}})
    for (unsigned seed = 1; seed <= 20; ++seed) {
      const Rounds rounds(normals(20000, mean, deviation), 50, seed);
      EXPECT_NEAR(rounds.scale.mean, mean, 0.15 * deviation) << mean;
      EXPECT_NEAR(std::log(rounds.scale.deviation / deviation), 0, 0.25) << mean;
      EXPECT_LT(rounds.scale.range.low, mean - 1.5 * deviation) << mean;
      EXPECT_GT(rounds.scale.range.high, mean + 1.5 * deviation) << mean;
    }
}

TEST(SizeCells, AreNotMovedByOneRecord) {
  std::vector<double> values = normals(20000, 0, 1);
  values[0] = 1e29, values[1] = -1e25;
  const Rounds rounds(values, 50);
  EXPECT_NEAR(rounds.scale.mean, 0, 0.15);
  EXPECT_NEAR(rounds.scale.deviation, 1, 0.25);
}

TEST(SizeCells, WithoutNoiseAreNearlyExact) {
  const Rounds rounds(normals(20000, 40, 13), 0);
  EXPECT_NEAR(rounds.scale.mean, 40, 0.3);
  EXPECT_NEAR(rounds.scale.deviation, 13, 0.5);
}

TEST(SizeCells, EveryColumnHasAFiniteScale) {
  const std::vector<std::vector<double>> columns{std::vector<double>(5000, 7),
                                                 std::vector<double>(5000, 0),
                                                 std::vector<double>(5000, missing_number),
                                                 std::vector<double>(5000, -missing_number),
                                                 std::vector<double>(5000, 0.97 * 0x1p63),
                                                 std::vector<double>(5000, -1e-300),
                                                 normals(5000, 1e12, 1),
                                                 {}};
  for (const auto& values : columns)
    for (const double noise : {0.0, 1.0, 50.0, 1e4})
      for (unsigned seed = 1; seed <= 20; ++seed) {
        const Scale scale = Rounds(values, noise, seed).scale;
        ASSERT_TRUE(std::isfinite(scale.mean) && std::isfinite(scale.deviation));
        ASSERT_GT(scale.deviation, 0);
        ASSERT_LT(scale.range.low, scale.range.high);
        for (const double end : {scale.range.low, scale.range.high})
          ASSERT_LE(std::abs(end - scale.mean), 20 * scale.deviation);
      }
}

TEST(SizeCells, TwoValuesKeepApart) {
  std::vector<double> values(5000);
  for (std::size_t i = 0; i < values.size(); i += 4) values[i] = 1;
  const Scale scale = Rounds(values, 50).scale;
  EXPECT_NEAR(scale.mean, 0.25, 0.1);
  EXPECT_NEAR(scale.deviation, std::sqrt(0.25 * 0.75), 0.15);
  EXPECT_GE(scale.range.high, 1);
}

}  // namespace
}  // namespace dpmpi::size_cells_test
