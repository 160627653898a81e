// Metrics from noisy counts: right without noise, and with intervals that hold
// as often as they say.
#include "run/held_out/estimates.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/score_laws.hpp"

namespace dpmpi::test::held_out_estimates_test {
namespace {

constexpr double z_of_half = 7.032;  // epsilon 0.5 at delta 1e-5 (Balle and Wang 2018)

TEST(HeldOutEstimates, AreThoseOfTheRecordsWithoutNoise) {
  std::mt19937_64 bits(1);
  for (const Law& law : {Law{}, Law{.positives = 0.1, .apart = 2.5}, Law{.scale = 0.2}, Law{.scale = 8}}) {
    const auto found = by_name(released(law, 400000, 0, bits));
    EXPECT_NEAR(*found.at("auc").value, law.auc(), 0.003);
    EXPECT_NEAR(*found.at("average_precision").value, law.average_precision(), 0.006);
    EXPECT_NEAR(*found.at("accuracy").value, law.accuracy(), 0.003);
    EXPECT_NEAR(*found.at("recall").value, law.recall(), 0.008);
    EXPECT_NEAR(*found.at("specificity").value, law.specificity(), 0.004);
    EXPECT_NEAR(*found.at("log_loss").value, law.log_loss(), 0.006);
    EXPECT_NEAR(*found.at("positives").value, law.positives, 0.003);
  }
}

CountedScores shape_of(std::size_t bins, std::size_t halvings) {
  CountedScores shape;
  shape.bins = bins, shape.halvings = halvings;
  return shape;
}

// Bins of many records lose nothing of the area, as a stair would.
TEST(HeldOutEstimates, BinsKeepTheAreaUnderTheCurve) {
  std::mt19937_64 bits(2);
  for (const std::size_t bins : {8, 15})
    for (const Law& law : {Law{}, Law{.apart = 3}, Law{.positives = 0.05, .apart = 2}}) {
      double bias = 0;
      for (int run = 0; run < 20; ++run)
        bias += *by_name(released(law, 50000, 0, bits, shape_of(bins, 0))).at("auc").value - law.auc();
      EXPECT_NEAR(bias / 20, 0, bins == 8 ? 0.005 : 0.002) << bins << " " << law.apart;
    }
}

// The precision at the highest scores is told by bins of few records there.
TEST(HeldOutEstimates, HalvedBinsKeepTheAreaUnderPrecisionAndRecall) {
  std::mt19937_64 bits(12);
  for (const Law& law : {Law{}, Law{.apart = 3}, Law{.positives = 0.1, .apart = 2}}) {
    double bias = 0;
    for (int run = 0; run < 20; ++run)
      bias += *by_name(released(law, 50000, 0, bits, shape_of(18, 6))).at("average_precision").value -
              law.average_precision();
    EXPECT_NEAR(bias / 20, 0, 0.004) << law.positives << " " << law.apart;
  }
}

// Where the records of +1 are all in one bin of more others, no count tells how
// many of those are above them.
TEST(HeldOutEstimates, AreSilentOnPrecisionWhereOneBinHasTheRecordsOfTheRareClass) {
  std::mt19937_64 bits(13);
  const Law law{.positives = 0.01, .apart = 3};
  const auto few = by_name(released(law, 50000, 0, bits, shape_of(8, 0)));
  EXPECT_FALSE(few.at("average_precision").value.has_value());
  EXPECT_TRUE(few.at("auc").value.has_value());
  EXPECT_TRUE(by_name(released(law, 50000, 0, bits, shape_of(14, 6))).at("average_precision").value.has_value());
}

// Their number follows from public numbers: how many records there are, and the
// noise.
TEST(HeldOutEstimates, BinsAreAsManyAsRecordsFill) {
  const auto chosen = [](std::uint64_t n, double noise_std, bool signs) {
    CountedScores shape;
    shape.signs = signs;
    shape.choose_bins(n, noise_std);
    return std::pair(shape.bins, shape.halvings);
  };
  EXPECT_EQ(chosen(100, 10, true), std::pair(std::size_t{8}, std::size_t{0}));
  EXPECT_EQ(chosen(10000, 7.6, true), std::pair(std::size_t{14}, std::size_t{1}));
  EXPECT_EQ(chosen(1000000, 7.6, true), std::pair(std::size_t{32}, std::size_t{6}));
  EXPECT_EQ(chosen(1000000, 7.6, false), std::pair(std::size_t{16}, std::size_t{0}));
  EXPECT_EQ(chosen(1000, 0, true), std::pair(std::size_t{32}, std::size_t{0}));
}

// As files have them that were written by these rules: first one bin for 20 records and 40 deviations of noise, 8
// to 16 of them; then with more of signs, and the highest of them halved.
TEST(HeldOutEstimates, BinsOfEarlierVersions) {
  using Shape = std::pair<std::size_t, std::size_t>;
  const auto chosen = [](bool signs, std::uint64_t n, double noise_std) {
    CountedScores shape;
    shape.signs = signs;
    shape.choose_bins(n, noise_std);
    return Shape(shape.bins, shape.halvings);
  };
  {
    const EarlierRules first(EarlierRules::first);
    for (const bool signs : {true, false}) {
      EXPECT_EQ(chosen(signs, 100, 3), Shape(8, 0));
      EXPECT_EQ(chosen(signs, 1300, 3), Shape(10, 0));
      EXPECT_EQ(chosen(signs, 220, 0), Shape(11, 0));
      EXPECT_EQ(chosen(signs, 10000, 3), Shape(16, 0));
    }
  }
  {
    const EarlierRules second(EarlierRules::of_other_bins);
    EXPECT_EQ(chosen(true, 100, 10), Shape(8, 0));
    EXPECT_EQ(chosen(true, 10000, 7.6), Shape(16, 2));
    EXPECT_EQ(chosen(true, 30000, 7.6), Shape(19, 3));
    EXPECT_EQ(chosen(true, 1000000, 7.6), Shape(32, 6));
    EXPECT_EQ(chosen(false, 1000000, 7.6), Shape(16, 0));
  }
  EXPECT_EQ(EarlierRules::in_force(), EarlierRules::today);
  EXPECT_EQ(chosen(true, 30000, 7.6), Shape(19, 2));
  EXPECT_EQ(chosen(true, 1000000, 7.6), Shape(32, 6));
}

struct Condition {
  Law law = {};
  std::size_t records = 3000;
  double z = 0;
};

/// Everything that is said holds in at least `least` and in at most `most` of
/// so many runs.
void expect_coverage(const Condition& c, int runs, unsigned seed, double least, double most, double most_of_order) {
  for (const auto& [name, found] : coverage_of(c.law, c.records, c.z, runs, seed)) {
    const std::string where = name + " of " + std::to_string(c.records) + " records, z " + std::to_string(c.z) +
                              ", +1 " + std::to_string(c.law.positives) + ", apart " + std::to_string(c.law.apart) +
                              ", +- " + std::to_string(found.reach);
    EXPECT_EQ(found.unsound, 0) << where;
    EXPECT_GE(found.given, name == "average_precision" ? 0.9 * runs : runs) << where;
    EXPECT_GE(found.covered(), least) << where;
    // Intervals of what bins do not tell all of have room for the rest.
    EXPECT_LE(found.covered(), name == "auc" || name == "average_precision" ? most_of_order : most) << where;
  }
}

// The deviation of what 1,000 runs find is 0.7 %.
TEST(HeldOutEstimates, IntervalsHoldAsOftenAsTheySay) {
  unsigned seed = 10;
  for (const Law& law : {Law{}, Law{.positives = 0.2, .apart = 2}, Law{.apart = 2.5, .scale = 2.5}})
    for (const double z : {0.0, z_of_half}) expect_coverage({law, 3000, z}, 1000, seed++, 0.927, 0.973, 0.997);
}

// With 8,000 runs the deviation is 0.25 %: one in twenty fails, and no more
// than a hundredth beside that.
TEST(HeldOutEstimates, SlowIntervalsHoldAsOftenAsTheySay) {
  unsigned seed = 1000;
  for (const double z : {1.1, 3.73, z_of_half}) {
    expect_coverage({Law{}, 10000, z}, 8000, seed++, 0.94, 0.965, 0.98);
    expect_coverage({Law{.positives = 0.2, .apart = 2, .scale = 2, .shift = -1.4}, 10000, z}, 8000, seed++, 0.94,
                    0.965, 0.994);
  }
}

// Not more than one evaluation in twenty is to have a wrong interval, and 4.5
// deviations of that, as there are 288 comparisons. A metric may be null: where
// it mostly is, those that are not have had much noise. Wilson's interval of a
// count of about one fails in a tenth.
TEST(HeldOutEstimates, OfRareClassesHoldOrAreNull) {
  unsigned seed = 100;
  for (const double positives : {0.5, 0.2, 0.05, 0.01})
    for (const std::size_t n : {400, 1000, 10000})
      for (const double z : {0.0, 1.1, z_of_half}) {
        if (n == 10000 && z == 1.1) continue;
        const Law law{
            .positives = positives, .apart = 2, .scale = 2, .shift = std::log(positives / (1 - positives))};
        const int runs = n > 1000 ? 200 : 400;
        const double rate = n <= 1000 && positives == 0.01 ? 0.1 : 0.05;
        const double allowed = rate * runs + 4.5 * std::sqrt(rate * (1 - rate) * runs);
        for (const auto& [name, c] : coverage_of(law, n, z, runs, seed++)) {
          EXPECT_EQ(c.unsound, 0) << name;
          EXPECT_LE(c.given - c.held, allowed)
              << name << " of " << n << " records, " << positives << ", z " << z << ", given " << c.given;
        }
      }
}

// In one cell of the grid nothing tells them apart.
TEST(HeldOutEstimates, OfScoresFarFromTheThresholdHaveNoArea) {
  std::mt19937_64 bits(7);
  for (const double z : {0.0, z_of_half}) {
    const auto found = by_name(released(Law{.scale = 0.1, .shift = 20}, 10000, z, bits));
    EXPECT_FALSE(found.at("auc").value.has_value());
    EXPECT_FALSE(found.at("average_precision").value.has_value());
  }
}

/// Eight bins, in each of which the share of +1 is (1 + i) / 9.
NoisyCounts rising_shares() {
  NoisyCounts counts;
  counts.shape.bins = 8;
  for (std::size_t i = 0; i < 8; ++i) counts.begins.push_back(CountedScores::cells_of_sign + 8 * i - 32);
  for (int i = 0; i < 8; ++i) counts.counts.push_back(10000 * (8 - i));
  for (int i = 0; i < 8; ++i) counts.counts.push_back(10000 * (1 + i));
  return counts;
}

// Bins do not tell whether scores in them are equal: the interval has room for
// both.
TEST(HeldOutEstimates, OfFewDifferentScoresHoldTheArea) {
  double below = 0, pairs = 0;
  for (int i = 0; i < 8; ++i) {
    const double no = 8 - i, yes = 1 + i;
    pairs += yes * (below + 0.5 * no), below += no;
  }
  const Estimate auc = by_name(rising_shares()).at("auc");
  EXPECT_LE(auc.low, pairs / (below * below));
  EXPECT_LT(auc.high - auc.low, 0.02);
}

TEST(HeldOutEstimates, TenThousandRecordsTellTheAreaToAHundredthAtEpsilonOneHalf) {
  const auto all = coverage_of(Law{}, 10000, z_of_half, 100, 3);
  EXPECT_LT(all.at("auc").reach, 0.01);
  EXPECT_LT(all.at("average_precision").reach, 0.018);
  EXPECT_LT(all.at("accuracy").reach, 0.012);
}

TEST(HeldOutEstimates, SayNothingWhereTheNoiseLeavesNothing) {
  std::mt19937_64 bits(4);
  const auto few = by_name(released(Law{.positives = 0.02}, 500, 50, bits));
  EXPECT_FALSE(few.at("auc").value.has_value());
  EXPECT_FALSE(few.at("recall").value.has_value());
  EXPECT_EQ(few.at("recall").low, 0);
  EXPECT_EQ(few.at("recall").high, 1);
}

NoisyCounts of_classes(std::size_t classes) {
  NoisyCounts counts;
  counts.shape.signs = false, counts.shape.classes = classes, counts.shape.bins = 4;
  counts.begins = {0, 50, 100, 150};
  return counts;
}

TEST(HeldOutEstimates, OfClassesComeFromTheConfusionMatrix) {
  NoisyCounts counts = of_classes(3);
  counts.counts = {10, 10, 5, 5, 20, 30, 50, 70};  // wrong, right
  counts.classes = {80, 10, 10, 0, 50, 0, 5, 5, 40};
  counts.loss = 100;
  const auto found = by_name(counts);
  EXPECT_NEAR(*found.at("accuracy").value, 0.85, 1e-12);
  EXPECT_NEAR(*found.at("recall.0").value, 0.8, 1e-12);
  EXPECT_NEAR(*found.at("recall.2").value, 0.8, 1e-12);
  EXPECT_NEAR(*found.at("balanced_accuracy").value, (0.8 + 1 + 0.8) / 3, 1e-12);
  EXPECT_NEAR(*found.at("log_loss").value, 0.5, 1e-12);
  EXPECT_EQ(shares_of_bins(counts).size(), 4U);
  EXPECT_NEAR(*shares_of_bins(counts)[0].value, 20.0 / 30, 1e-12);
}

// As for two classes: 4.5 deviations above one in twenty, and not much more
// often than they say.
TEST(HeldOutEstimates, OfClassesHoldAsOftenAsTheySay) {
  unsigned seed = 300;
  constexpr int runs = 1000;
  for (const LawOfClasses& law : {LawOfClasses{{0.4, 0.3, 0.3}}, LawOfClasses{{0.8, 0.15, 0.05}, 3},
                                  LawOfClasses{std::vector<double>(10, 0.1), 3}}) {
    const double recall = law.recall(), loss = law.log_loss();
    for (const double z : {0.0, z_of_half}) {
      std::mt19937_64 bits(seed++);
      std::map<std::string, Coverage> all;
      for (int run = 0; run < runs; ++run)
        for (const auto& [name, e] : by_name(released(law, 3000, z, bits))) {
          if (!e.value) continue;
          const double truth = name == "log_loss" ? loss : recall;
          Coverage& c = all[name];
          ++c.given, c.held += e.low <= truth && truth <= e.high, c.reach += 0.5 * (e.high - e.low) / runs;
        }
      EXPECT_EQ(all.at("accuracy").given, runs);
      EXPECT_EQ(all.at("log_loss").given, runs);
      for (const auto& [name, c] : all) {
        const std::string where = name + " of " + std::to_string(law.shares.size()) + " classes, z " +
                                  std::to_string(z) + ", given " + std::to_string(c.given) + ", held " +
                                  std::to_string(c.held) + ", +- " + std::to_string(c.reach);
        EXPECT_LE(c.given - c.held, 0.081 * runs) << where;
        EXPECT_TRUE(c.given < runs || c.covered() <= (name == "log_loss" ? 0.99 : 0.981)) << where;
      }
    }
  }
}

TEST(ScoreGrid, CellsAreInOrderAndHaveTheScoresBetweenTheirEdges) {
  const std::size_t cells = 2 * CountedScores::cells_of_sign;
  for (std::size_t c = 1; c < cells; ++c) EXPECT_LT(CountedScores::edge(c - 1), CountedScores::edge(c));
  EXPECT_EQ(CountedScores::edge(CountedScores::cells_of_sign), 0);
  std::mt19937_64 bits(5);
  std::normal_distribution<double> normal(0, 6);
  for (int i = 0; i < 20000; ++i) {
    const double score = i % 2 ? std::exp(normal(bits)) : -std::exp(normal(bits));
    const std::size_t cell = CountedScores::cell(score);
    ASSERT_LT(cell, cells);
    EXPECT_LE(CountedScores::edge(cell), score);
    EXPECT_TRUE(cell + 1 == cells || CountedScores::edge(cell + 1) >= score);
    EXPECT_EQ(cell >= CountedScores::cells_of_sign, score > 0);
  }
  EXPECT_LT(CountedScores::cell(0), CountedScores::cells_of_sign) << "0 is not above the threshold";
  EXPECT_LT(CountedScores::cell(std::nan("")), CountedScores::cells_of_sign);
  EXPECT_EQ(CountedScores::cell(std::numeric_limits<double>::infinity()), cells - 1);
  EXPECT_EQ(CountedScores::cell(-std::numeric_limits<double>::infinity()), 0U);
}

// Whatever the noise makes of the cells, bins begin in order and one begins at
// 0.
TEST(ScoreGrid, AnyCountsGiveBins) {
  std::mt19937_64 bits(6);
  std::normal_distribution<double> normal;
  const std::size_t cells = 2 * CountedScores::cells_of_sign;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> counts(cells);
    for (double& count : counts) count = normal(bits) * (i % 3) - (i % 5);
    if (i % 7 == 0) counts[static_cast<std::size_t>(i) % cells] += 1e6;
    for (CountedScores shape : {shape_of(4, 0), shape_of(16, 0), shape_of(14, 6), shape_of(38, 6)})
      for (const bool signs : {false, true}) {
        shape.signs = signs;
        const auto begins = even_bins(counts, shape);
        ASSERT_EQ(begins.size(), shape.bins);
        EXPECT_EQ(begins[0], 0U);
        for (std::size_t b = 1; b < shape.bins; ++b) ASSERT_LT(begins[b - 1], begins[b]);
        ASSERT_LT(begins.back(), cells);
        EXPECT_TRUE(!signs || std::ranges::count(begins, CountedScores::cells_of_sign) == 1);
      }
  }
}

// Of as many records in each cell, the highest of four bins is cut at a half,
// and its upper half again.
TEST(ScoreGrid, TheHighestBinIsHalved) {
  CountedScores shape = shape_of(6, 2);
  shape.signs = false;
  const auto begins = even_bins(std::vector<double>(64, 1.0), shape);
  EXPECT_EQ(begins, (std::vector<std::size_t>{0, 16, 32, 48, 56, 60}));
}

// Where less than one bin is above the threshold, the cut that is nearest moves there, and the highest of all bins
// is halved.
TEST(ScoreGrid, OneCutMovesToTheThreshold) {
  const CountedScores shape = shape_of(6, 2);
  std::vector<double> cells(2 * CountedScores::cells_of_sign, 0);
  for (std::size_t i = 0; i < 64; ++i) cells[CountedScores::cells_of_sign - 61 + i] = 1;  // three are above it
  const std::size_t first = CountedScores::cells_of_sign - 61;
  EXPECT_EQ(even_bins(cells, shape),
            (std::vector<std::size_t>{0, first + 16, first + 32, first + 48, first + 56, first + 61}));
}

}  // namespace
}  // namespace dpmpi::test::held_out_estimates_test
