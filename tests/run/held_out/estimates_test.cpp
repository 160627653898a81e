// Metrics from noisy counts: right without noise, and with intervals that hold as often as they say.
#include "run/held_out/estimates.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run/evaluate/evaluate.hpp"

namespace dpmpi::held_out_estimates_test {
namespace {

/// Scores of -1 and +1, normal with these means, in log-odds that may be too sure or not sure enough.
struct Law {
  double positives = 0.5, apart = 1.5, scale = 1.5, shift = 0;

  struct Record {
    bool positive;
    double score;
  };
  Record draw(std::mt19937_64& bits) const {
    std::normal_distribution<double> normal;
    const bool positive = std::uniform_real_distribution<double>()(bits) < positives;
    return {positive, scale * (normal(bits) + (positive ? 0.5 : -0.5) * apart) + shift};
  }
  static double above(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }
  double auc() const { return above(-apart / std::sqrt(2.0)); }
  double recall() const { return above(-shift / scale - 0.5 * apart); }
  double specificity() const { return 1 - above(-shift / scale + 0.5 * apart); }
  double accuracy() const { return positives * recall() + (1 - positives) * specificity(); }
  double precision() const {
    const double right = positives * recall();
    return right / (right + (1 - positives) * (1 - specificity()));
  }
  double log_loss() const {  // by quadrature
    double sum = 0;
    for (double z = -8; z < 8; z += 1e-3) {
      const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI) * 1e-3;
      const auto loss = [&](double score) {
        return std::min(std::log1p(std::exp(-score)), CountedScores::largest_loss);
      };
      sum += density * (positives * loss(scale * (z + 0.5 * apart) + shift) +
                        (1 - positives) * loss(-(scale * (z - 0.5 * apart) + shift)));
    }
    return sum;
  }
};

/// What a run would release of n records of the law, with noise of z over the sensitivity.
NoisyCounts released(const Law& law, std::size_t n, double z, std::mt19937_64& bits, std::size_t bins = 16) {
  CountedScores shape;
  shape.bins = bins;
  const auto queries = shape.queries(z > 0 ? z : 1);
  std::normal_distribution<double> normal;
  const auto std_of = [&](std::size_t q) {
    return z > 0 ? queries[q].noise_multiplier * queries[q].bound.clip : 0;
  };
  std::vector<Law::Record> records(n);
  for (auto& record : records) record = law.draw(bits);
  std::vector<double> cells(queries[0].dim);
  for (const auto& r : records) ++cells[CountedScores::cell(r.score)];
  for (double& count : cells) count += std_of(0) * normal(bits);
  NoisyCounts out{.shape = shape};
  out.begins = even_bins(cells, bins, true);
  out.counts.resize(2 * bins);
  for (const auto& r : records) {
    const auto bin = std::ranges::upper_bound(out.begins, CountedScores::cell(r.score)) - out.begins.begin() - 1;
    ++out.counts[(r.positive ? bins : 0) + static_cast<std::size_t>(bin)];
    out.loss += std::min(std::log1p(std::exp(r.positive ? -r.score : r.score)), CountedScores::largest_loss);
  }
  out.counts_std = std_of(1), out.loss_std = std_of(2);
  for (double& count : out.counts) count += out.counts_std * normal(bits);
  out.loss += out.loss_std * normal(bits);
  return out;
}

std::map<std::string, Estimate> by_name(const NoisyCounts& counts) {
  std::map<std::string, Estimate> all;
  for (const Estimate& e : estimates_of(counts)) all[e.name] = e;
  return all;
}

constexpr double z_of_half = 7.032;  // epsilon 0.5 at delta 1e-5 (Balle and Wang 2018)

TEST(HeldOutEstimates, AreThoseOfTheRecordsWithoutNoise) {
  std::mt19937_64 bits(1);
  for (const Law& law : {Law{}, Law{.positives = 0.1, .apart = 2.5}, Law{.scale = 0.2}, Law{.scale = 8}}) {
    const auto found = by_name(released(law, 400000, 0, bits));
    EXPECT_NEAR(*found.at("auc").value, law.auc(), 0.003);
    EXPECT_NEAR(*found.at("accuracy").value, law.accuracy(), 0.003);
    EXPECT_NEAR(*found.at("recall").value, law.recall(), 0.008);
    EXPECT_NEAR(*found.at("specificity").value, law.specificity(), 0.004);
    EXPECT_NEAR(*found.at("log_loss").value, law.log_loss(), 0.006);
    EXPECT_NEAR(*found.at("positives").value, law.positives, 0.003);
  }
}

// Bins of many records lose nothing of the area, as a stair would.
TEST(HeldOutEstimates, BinsKeepTheAreaUnderTheCurve) {
  std::mt19937_64 bits(2);
  for (const std::size_t bins : {8, 16})
    for (const Law& law : {Law{}, Law{.apart = 3}, Law{.positives = 0.05, .apart = 2}}) {
      double bias = 0;
      for (int run = 0; run < 20; ++run)
        bias += *by_name(released(law, 50000, 0, bits, bins)).at("auc").value - law.auc();
      EXPECT_NEAR(bias / 20, 0, bins == 8 ? 0.005 : 0.002) << bins << " " << law.apart;
    }
}

struct Coverage {
  int given = 0, held = 0;  ///< intervals that are not null; those that hold the law's value
  double reach = 0;         ///< half the mean width
  double covered() const { return static_cast<double>(held) / given; }
};
/// Of every metric, in so many simulated runs.
std::map<std::string, Coverage> coverage_of(const Law& law, std::size_t n, double z, int runs, unsigned seed,
                                            std::size_t bins = 16) {
  std::mt19937_64 bits(seed);
  const std::map<std::string, double> truth{{"auc", law.auc()},
                                            {"accuracy", law.accuracy()},
                                            {"balanced_accuracy", 0.5 * (law.recall() + law.specificity())},
                                            {"recall", law.recall()},
                                            {"specificity", law.specificity()},
                                            {"precision", law.precision()},
                                            {"positives", law.positives},
                                            {"log_loss", law.log_loss()}};
  std::map<std::string, Coverage> all;
  for (int run = 0; run < runs; ++run) {
    const auto found = by_name(released(law, n, z, bits, bins));
    EXPECT_EQ(found.size(), truth.size()) << "every metric is tested";
    for (const auto& [name, e] : found) {
      if (!e.value) continue;
      const double value = truth.at(name);
      EXPECT_TRUE(0 <= e.low && e.low <= *e.value && *e.value <= e.high) << name;
      EXPECT_TRUE(name == "log_loss" || (e.high <= 1 && e.high - e.low <= 0.5)) << name;
      Coverage& c = all[name];
      ++c.given, c.held += e.low <= value && value <= e.high, c.reach += 0.5 * (e.high - e.low);
    }
  }
  for (auto& [name, c] : all) c.reach /= c.given;
  return all;
}

// The deviation of what 1,000 runs find is 0.7 %.
TEST(HeldOutEstimates, IntervalsHoldAsOftenAsTheySay) {
  unsigned seed = 10;
  for (const Law& law : {Law{}, Law{.positives = 0.2, .apart = 2}, Law{.apart = 2.5, .scale = 2.5}})
    for (const double z : {0.0, z_of_half})
      for (const auto& [name, c] : coverage_of(law, 3000, z, 1000, seed++)) {
        EXPECT_EQ(c.given, 1000);
        EXPECT_GE(c.covered(), 0.927) << name << " z " << z << " apart " << law.apart << " +- " << c.reach;
        // Its interval has room for what bins do not tell.
        EXPECT_LE(c.covered(), name == "auc" ? 0.995 : 0.973)
            << name << " z " << z << " apart " << law.apart << " +- " << c.reach;
      }
}

// Not more than one evaluation in twenty is to have a wrong interval, and 4.5 deviations of that, as there are 256
// comparisons. A metric may be null: where it mostly is, those that are not have had much noise. Wilson's interval
// of a count of about one fails in a tenth.
TEST(HeldOutEstimates, OfRareClassesHoldOrAreNull) {
  unsigned seed = 100;
  for (const double positives : {0.5, 0.2, 0.05, 0.01})
    for (const std::size_t n : {400, 1000, 10000})
      for (const double z : {0.0, 1.1, z_of_half}) {
        if (n == 10000 && z == 1.1) continue;
        const Law law{
            .positives = positives, .apart = 2, .scale = 2, .shift = std::log(positives / (1 - positives))};
        const std::size_t bins = z > 5 && n <= 1000 ? 8 : 16;
        const int runs = n > 1000 ? 200 : 400;
        const double rate = n <= 1000 && positives == 0.01 ? 0.1 : 0.05;
        const double allowed = rate * runs + 4.5 * std::sqrt(rate * (1 - rate) * runs);
        for (const auto& [name, c] : coverage_of(law, n, z, runs, seed++, bins))
          EXPECT_LE(c.given - c.held, allowed)
              << name << " of " << n << " records, " << positives << ", z " << z << ", given " << c.given;
      }
}

// In one cell of the grid nothing tells them apart.
TEST(HeldOutEstimates, OfScoresFarFromTheThresholdHaveNoArea) {
  std::mt19937_64 bits(7);
  for (const double z : {0.0, z_of_half})
    EXPECT_FALSE(by_name(released(Law{.scale = 0.1, .shift = 20}, 10000, z, bits)).at("auc").value.has_value());
}

// Bins do not tell whether scores in them are equal: the interval has room for both.
TEST(HeldOutEstimates, OfFewDifferentScoresHoldTheArea) {
  NoisyCounts counts;
  counts.shape.bins = 8;
  for (std::size_t i = 0; i < 8; ++i) counts.begins.push_back(CountedScores::cells_of_sign + 8 * i - 32);
  double below = 0, pairs = 0;
  for (int i = 0; i < 8; ++i) {
    const double no = 10000 * (8 - i), yes = 10000 * (1 + i);
    pairs += yes * (below + 0.5 * no), below += no;
    counts.counts.push_back(no);
  }
  for (int i = 0; i < 8; ++i) counts.counts.push_back(10000 * (1 + i));
  const Estimate auc = by_name(counts).at("auc");
  EXPECT_LE(auc.low, pairs / (below * below));
  EXPECT_LT(auc.high - auc.low, 0.02);
}

TEST(HeldOutEstimates, TenThousandRecordsTellTheAreaToAHundredthAtEpsilonOneHalf) {
  const auto all = coverage_of(Law{}, 10000, z_of_half, 100, 3);
  EXPECT_LT(all.at("auc").reach, 0.01);
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

/// Classes with normal scores: those of the record's own class are `apart` higher. Softmax of them.
struct LawOfClasses {
  std::vector<double> shares = {};
  double apart = 2, scale = 1;

  struct Record {
    std::size_t label, predicted;
    double log_odds, loss;  ///< of the predicted class; clipped
  };
  Record draw(std::mt19937_64& bits) const {
    std::normal_distribution<double> normal;
    double u = std::uniform_real_distribution<double>()(bits);
    Record record{};
    while (record.label + 1 < shares.size() && u >= shares[record.label]) u -= shares[record.label++];
    std::vector<double> odds(shares.size());
    for (double& o : odds) o = scale * normal(bits);
    odds[record.label] += scale * apart;
    record.predicted = static_cast<std::size_t>(std::ranges::max_element(odds) - odds.begin());
    double others = 0;
    for (std::size_t k = 0; k < odds.size(); ++k)
      others += k == record.predicted ? 0 : std::exp(odds[k] - odds[record.predicted]);
    record.log_odds = -std::log(others);
    const double loss = odds[record.predicted] - odds[record.label] + std::log1p(others);
    record.loss = std::min(loss, CountedScores::largest_loss);
    return record;
  }
  /// Of every class: its score is the largest, by quadrature.
  double recall() const {
    double sum = 0;
    for (double z = -8; z < 8; z += 1e-3)
      sum += std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI) * 1e-3 *
             std::pow(Law::above(-z - apart), static_cast<double>(shares.size() - 1));
    return sum;
  }
  /// By a million draws: an eighteenth of the deviation that 3,000 records have.
  double log_loss() const {
    std::mt19937_64 bits(99);
    double sum = 0;
    for (int i = 0; i < 1000000; ++i) sum += draw(bits).loss;
    return sum / 1e6;
  }
};

NoisyCounts released(const LawOfClasses& law, std::size_t n, double z, std::mt19937_64& bits) {
  const std::size_t classes = law.shares.size(), bins = 16;
  CountedScores shape;
  shape.signs = false, shape.classes = classes, shape.bins = bins;
  const auto queries = shape.queries(z > 0 ? z : 1);
  std::normal_distribution<double> normal;
  const auto std_of = [&](std::size_t q) {
    return z > 0 ? queries[q].noise_multiplier * queries[q].bound.clip : 0;
  };
  std::vector<LawOfClasses::Record> records(n);
  for (auto& record : records) record = law.draw(bits);
  std::vector<double> cells(queries[0].dim);
  for (const auto& r : records) ++cells[CountedScores::cell(r.log_odds)];
  for (double& count : cells) count += std_of(0) * normal(bits);
  NoisyCounts out{.shape = shape};
  out.begins = even_bins(cells, bins, false);
  out.counts.resize(2 * bins), out.classes.resize(classes * classes);
  for (const auto& r : records) {
    const auto behind = std::ranges::upper_bound(out.begins, CountedScores::cell(r.log_odds));
    const auto bin = static_cast<std::size_t>(behind - out.begins.begin()) - 1;
    ++out.counts[(r.label == r.predicted ? bins : 0) + bin];
    ++out.classes[r.label * classes + r.predicted];
    out.loss += r.loss;
  }
  out.counts_std = std_of(1), out.classes_std = std_of(2), out.loss_std = std_of(3);
  for (double& count : out.counts) count += out.counts_std * normal(bits);
  for (double& count : out.classes) count += out.classes_std * normal(bits);
  out.loss += out.loss_std * normal(bits);
  return out;
}

// As for two classes: 4.5 deviations above one in twenty. The mean square of the losses of classes is bounded, not
// known, so the interval of their mean is wide: it has no bound from above.
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
        EXPECT_TRUE(c.given < runs || name == "log_loss" || c.covered() <= 0.981) << where;
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

// Whatever the noise makes of the cells, bins begin in order and one begins at 0.
TEST(ScoreGrid, AnyCountsGiveBins) {
  std::mt19937_64 bits(6);
  std::normal_distribution<double> normal;
  const std::size_t cells = 2 * CountedScores::cells_of_sign;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> counts(cells);
    for (double& count : counts) count = normal(bits) * (i % 3) - (i % 5);
    if (i % 7 == 0) counts[static_cast<std::size_t>(i) % cells] += 1e6;
    for (const std::size_t bins : {4, 16})
      for (const bool zero : {false, true}) {
        const auto begins = even_bins(counts, bins, zero);
        ASSERT_EQ(begins.size(), bins);
        EXPECT_EQ(begins[0], 0U);
        for (std::size_t b = 1; b < bins; ++b) ASSERT_LT(begins[b - 1], begins[b]);
        ASSERT_LT(begins.back(), cells);
        EXPECT_TRUE(!zero || std::ranges::count(begins, CountedScores::cells_of_sign) == 1);
      }
  }
}

}  // namespace
}  // namespace dpmpi::held_out_estimates_test
