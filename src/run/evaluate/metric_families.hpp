#pragma once
// Metrics as functions of records that count as often as weights say: all once for the metrics themselves, other
// numbers for those of a resample. Of a table with a column of weights a record counts its own weight each time.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "run/evaluate/scored_records.hpp"

namespace dpmpi {

using Weights = std::span<const std::uint8_t>;  ///< of each record

/// Metrics that are computed together. One that has no value, as where a class is missing, is NaN.
class MetricFamily {
 public:
  virtual ~MetricFamily() = default;
  virtual std::vector<std::string> names() const = 0;
  virtual void measure(Weights weights, std::span<double> values) const = 0;
  /// What the constant reaches that is best by these records; NaN where that means nothing.
  virtual std::vector<double> of_constant() const { return std::vector<double>(names().size(), missing); }

 protected:
  static const double missing;  ///< NaN
};
using MetricFamilies = std::vector<std::unique_ptr<const MetricFamily>>;

/// The mean loss.
std::unique_ptr<const MetricFamily> mean_loss_metric(const ScoredRecords& records, const std::string& name);
/// What the records offer of accuracy, balanced_accuracy; auc, average_precision; rmse, mae, r2.
MetricFamilies label_metrics(const ScoredRecords& records);
/// precision, recall and f1 of class 0, of class 1, ...
inline constexpr std::size_t metrics_of_class = 3;
std::unique_ptr<const MetricFamily> metrics_by_class(const ScoredRecords& records);

}  // namespace dpmpi
