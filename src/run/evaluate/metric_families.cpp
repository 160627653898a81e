#include "run/evaluate/metric_families.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace dpmpi {

const double MetricFamily::missing = std::numeric_limits<double>::quiet_NaN();

namespace {

double ratio(double part, double whole) { return whole > 0 ? part / whole : std::nan(""); }

/// What a record counts that is there so many times.
class OwnWeights {
 public:
  explicit OwnWeights(const ScoredRecords& records) : weight_(records.weight) {}
  double of(std::size_t i, unsigned times) const {
    return weight_.empty() ? times : times * static_cast<double>(weight_[i]);
  }

 private:
  std::vector<float> weight_;
};

class MeanLossMetric final : public MetricFamily {
 public:
  MeanLossMetric(const ScoredRecords& records, std::string name)
      : name_(std::move(name)), own_(records), loss_(records.loss) {}
  std::vector<std::string> names() const override { return {name_}; }
  void measure(Weights weights, std::span<double> values) const override {
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double weight = own_.of(i, weights[i]);
      sum += weight * static_cast<double>(loss_[i]), count += weight;
    }
    values[0] = count > 0 ? sum / count : missing;
  }

 private:
  std::string name_;
  OwnWeights own_;
  std::vector<float> loss_;
};

/// Of every class the weight of the records that are of it, that were taken for it, and that were so rightly.
struct ClassCounts {
  explicit ClassCounts(std::size_t classes) : of(classes), taken(classes), right(classes) {}
  std::vector<double> of, taken, right;
};

class Classified {
 public:
  explicit Classified(const ScoredRecords& records)
      : classes_(records.classes),
        own_(records),
        label_(records.label.begin(), records.label.end()),
        predicted_(records.predicted.begin(), records.predicted.end()) {}
  std::size_t classes() const { return classes_; }
  std::size_t size() const { return label_.size(); }
  ClassCounts count(Weights weights) const {
    ClassCounts c(classes_);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double weight = own_.of(i, weights[i]);
      c.of[label_[i]] += weight;
      c.taken[predicted_[i]] += weight;
      c.right[label_[i]] += label_[i] == predicted_[i] ? weight : 0;
    }
    return c;
  }

 private:
  std::size_t classes_;
  OwnWeights own_;
  std::vector<std::uint32_t> label_, predicted_;
};

class AccuracyMetrics final : public MetricFamily {
 public:
  explicit AccuracyMetrics(const ScoredRecords& records) : records_(records) {}
  std::vector<std::string> names() const override { return {"accuracy", "balanced_accuracy"}; }
  void measure(Weights weights, std::span<double> values) const override {
    const ClassCounts c = records_.count(weights);
    double right = 0, all = 0, recalls = 0, present = 0;
    for (std::size_t k = 0; k < records_.classes(); ++k) {
      right += c.right[k], all += c.of[k];
      if (c.of[k] == 0) continue;
      recalls += c.right[k] / c.of[k], present += 1;
    }
    values[0] = ratio(right, all);
    values[1] = present > 1 ? recalls / present : missing;
  }
  /// The most frequent class; any class, of those that there are.
  std::vector<double> of_constant() const override {
    const ClassCounts c = records_.count(std::vector<std::uint8_t>(records_.size(), 1));
    const auto present = static_cast<double>(std::ranges::count_if(c.of, [](auto n) { return n > 0; }));
    return {ratio(*std::ranges::max_element(c.of), std::accumulate(c.of.begin(), c.of.end(), 0.0)),
            present > 1 ? 1 / present : missing};
  }

 private:
  Classified records_;
};

class ByClassMetrics final : public MetricFamily {
 public:
  explicit ByClassMetrics(const ScoredRecords& records) : records_(records) {}
  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (std::size_t k = 0; k < records_.classes(); ++k) all.insert(all.end(), {"precision", "recall", "f1"});
    return all;
  }
  void measure(Weights weights, std::span<double> values) const override {
    const ClassCounts c = records_.count(weights);
    for (std::size_t k = 0; k < records_.classes(); ++k) {
      values[metrics_of_class * k] = ratio(c.right[k], c.taken[k]);
      values[metrics_of_class * k + 1] = ratio(c.right[k], c.of[k]);
      values[metrics_of_class * k + 2] = ratio(2 * c.right[k], c.of[k] + c.taken[k]);
    }
  }

 private:
  Classified records_;
};

/// Of records with the highest score first. Those of one score are found together.
class RankMetrics final : public MetricFamily {
 public:
  explicit RankMetrics(const ScoredRecords& records) : own_(records) {
    const std::size_t n = records.size();
    for (std::size_t i = 0; i < n; ++i) {
      positive_.push_back(records.label[i] > 0);
      ends_tie_.push_back(i + 1 == n || records.score[i + 1] != records.score[i]);
    }
  }
  std::vector<std::string> names() const override { return {"auc", "average_precision"}; }
  void measure(Weights weights, std::span<double> values) const override {
    double found = 0, wrong = 0, tied_found = 0, tied_wrong = 0, twice_ordered = 0;
    double precisions = 0;  // of each record that is found, that at its own score
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double weight = own_.of(i, weights[i]), of_positive = positive_[i] ? weight : 0;
      tied_found += of_positive, tied_wrong += weight - of_positive;
      if (!ends_tie_[i]) continue;
      twice_ordered += tied_wrong * (2 * found + tied_found);
      found += tied_found, wrong += tied_wrong;
      if (found > 0) precisions += tied_found * found / (found + wrong);
      tied_found = tied_wrong = 0;
    }
    const bool both = found > 0 && wrong > 0;
    values[0] = both ? twice_ordered / 2 / (found * wrong) : missing;
    values[1] = both ? precisions / found : missing;
  }
  std::vector<double> of_constant() const override {
    double positives = 0, all = 0;
    for (std::size_t i = 0; i < positive_.size(); ++i)
      all += own_.of(i, 1), positives += positive_[i] ? own_.of(i, 1) : 0;
    if (positives == 0 || positives == all) return {missing, missing};
    return {0.5, positives / all};
  }

 private:
  OwnWeights own_;
  std::vector<std::uint8_t> positive_, ends_tie_;
};

/// The label below and above which half of all weight is; between two of them, their middle.
double middle_label(const ScoredRecords& records, const OwnWeights& own) {
  if (records.size() == 0) return 0;
  std::vector<std::pair<float, double>> labels;
  double all = 0;
  for (std::size_t i = 0; i < records.size(); ++i)
    labels.emplace_back(records.label[i], own.of(i, 1)), all += labels.back().second;
  std::ranges::sort(labels);
  double below = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    below += labels[i].second;
    if (2 * below < all) continue;
    const bool between = 2 * below == all && i + 1 < labels.size();
    const auto here = static_cast<double>(labels[i].first);
    return between ? (here + static_cast<double>(labels[i + 1].first)) / 2 : here;
  }
  return static_cast<double>(labels.back().first);
}

class ErrorMetrics final : public MetricFamily {
 public:
  explicit ErrorMetrics(const ScoredRecords& records) : own_(records) {
    const double middle = middle_label(records, own_);
    for (std::size_t i = 0; i < records.size(); ++i) {
      error_.push_back(static_cast<double>(records.predicted[i]) - static_cast<double>(records.label[i]));
      from_median_.push_back(static_cast<double>(records.label[i]) - middle);
    }
  }
  std::vector<std::string> names() const override { return {"rmse", "mae", "r2"}; }
  void measure(Weights weights, std::span<double> values) const override {
    const Moments error(error_, weights, own_), label(from_median_, weights, own_);
    values[0] = error.count > 0 ? std::sqrt(error.squares / error.count) : missing;
    values[1] = ratio(error.sizes, error.count);
    values[2] = label.spread() > 0 ? 1 - error.squares / label.spread() : missing;
  }
  /// The mean, the median, and the mean.
  std::vector<double> of_constant() const override {
    const Moments label(from_median_, std::vector<std::uint8_t>(from_median_.size(), 1), own_);
    if (label.count == 0) return {missing, missing, missing};
    return {std::sqrt(label.spread() / label.count), label.sizes / label.count, label.spread() > 0 ? 0 : missing};
  }

 private:
  struct Moments {
    Moments(const std::vector<double>& values, Weights weights, const OwnWeights& own) {
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const double x = values[i], weight = own.of(i, weights[i]);
        count += weight, sum += weight * x, sizes += weight * std::abs(x), squares += weight * x * x;
      }
    }
    /// About the mean; what rounding may leave of equal numbers is none.
    double spread() const {
      const double all = count > 0 ? squares - sum * sum / count : 0;
      return all > 1e-12 * squares ? all : 0;
    }
    double count = 0, sum = 0, sizes = 0, squares = 0;
  };
  OwnWeights own_;
  std::vector<double> error_, from_median_;
};

}  // namespace

std::unique_ptr<const MetricFamily> mean_loss_metric(const ScoredRecords& records, const std::string& name) {
  return std::make_unique<MeanLossMetric>(records, name);
}

MetricFamilies label_metrics(const ScoredRecords& records) {
  MetricFamilies all;
  if (records.classes > 0) all.push_back(std::make_unique<AccuracyMetrics>(records));
  if (records.ranked) all.push_back(std::make_unique<RankMetrics>(records));
  if (records.quantities) all.push_back(std::make_unique<ErrorMetrics>(records));
  return all;
}

std::unique_ptr<const MetricFamily> metrics_by_class(const ScoredRecords& records) {
  return std::make_unique<ByClassMetrics>(records);
}

}  // namespace dpmpi
