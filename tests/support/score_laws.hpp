#pragma once
// Laws of scores whose metrics are known, and what a run would release of records that are drawn from them.

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "run/held_out/estimates.hpp"

namespace dpmpi::test {

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
  double average_precision() const {  // by quadrature
    double sum = 0;
    for (double z = -8; z < 8; z += 1e-3) {
      const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI) * 1e-3;  // of +1
      const double found = positives * above(z), wrong = (1 - positives) * above(z + apart);
      sum += density * found / (found + wrong);
    }
    return sum;
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
inline NoisyCounts released(const Law& law, std::size_t n, double z, std::mt19937_64& bits,
                            CountedScores shape = {}) {
  if (shape.bins == CountedScores().bins) shape.choose_bins(n, z > 0 ? shape.queries(z)[1].noise_multiplier : 0);
  const std::size_t bins = shape.bins;
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
  out.begins = even_bins(cells, shape);
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

inline std::map<std::string, Estimate> by_name(const NoisyCounts& counts) {
  std::map<std::string, Estimate> all;
  for (const Estimate& e : estimates_of(counts)) all[e.name] = e;
  return all;
}

struct Coverage {
  int given = 0, held = 0;  ///< intervals that are not null; those that hold the law's value
  int unsound = 0;          ///< those that do not hold their value, or are no part of [0, 1]
  double reach = 0;         ///< half the mean width
  double covered() const { return static_cast<double>(held) / given; }
};
/// Of every metric, in so many simulated runs.
inline std::map<std::string, Coverage> coverage_of(const Law& law, std::size_t n, double z, int runs,
                                                   unsigned seed) {
  std::mt19937_64 bits(seed);
  const std::map<std::string, double> truth{{"auc", law.auc()},
                                            {"average_precision", law.average_precision()},
                                            {"accuracy", law.accuracy()},
                                            {"balanced_accuracy", 0.5 * (law.recall() + law.specificity())},
                                            {"recall", law.recall()},
                                            {"specificity", law.specificity()},
                                            {"precision", law.precision()},
                                            {"positives", law.positives},
                                            {"log_loss", law.log_loss()}};
  std::map<std::string, Coverage> all;
  for (int run = 0; run < runs; ++run) {
    const auto found = by_name(released(law, n, z, bits));
    for (const auto& [name, e] : found) {
      if (!e.value) continue;
      const double value = truth.at(name);
      const bool sound = 0 <= e.low && e.low <= *e.value && *e.value <= e.high &&
                         (name == "log_loss" || (e.high <= 1 && e.high - e.low <= 0.5));
      Coverage& c = all[name];
      c.unsound += sound ? 0 : 1;
      ++c.given, c.held += e.low <= value && value <= e.high, c.reach += 0.5 * (e.high - e.low);
    }
  }
  for (auto& [name, c] : all) c.reach /= c.given;
  return all;
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

inline NoisyCounts released(const LawOfClasses& law, std::size_t n, double z, std::mt19937_64& bits) {
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
  out.begins = even_bins(cells, shape);
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

}  // namespace dpmpi::test
