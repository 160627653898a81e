#pragma once
// How well a model does on labelled records, beyond the metrics of a run: all that scores and labels say, how sure
// it is, what a constant would reach, and whether probabilities are to be believed. The same numbers on any number
// of ranks.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "comm/communicator.hpp"
#include "run/evaluate/bootstrap.hpp"
#include "run/evaluate/evaluate.hpp"
#include "run/evaluate/groups.hpp"

namespace dpmpi {

/// Predicted probabilities against what was found, in ten bins of equal width. Of sign labels: the probability of
/// +1; of classes: that of the predicted class, found if it is the true one.
struct ScoreCalibration {
  struct Bin {
    std::uint64_t records = 0;
    double predicted = 0, found = 0;  ///< means over the bin's records, by their weights
  };
  std::array<Bin, 10> bins;
  double error = 0;  ///< mean of |predicted - found| over the records, bin by bin (expected calibration error)
};

struct Metric {
  std::string name;
  std::optional<double> value;       ///< none where these records have no such number, as where a class is missing
  std::optional<Interval> interval;  ///< 95 %, on request
  std::optional<double> constant{};  ///< what the best constant reaches, chosen by these records
};

/// Metrics of a class or group.
struct PartMetrics {
  std::string name;
  std::uint64_t records = 0;
  std::vector<Metric> metrics;
};

struct Assessment {
  Evaluation evaluation;
  std::vector<Metric> metrics;  ///< the loss, then what labels and scores say, then the objective's own
  std::vector<PartMetrics> by_class, by_group;
  /// Sign and class labels: confusion[k * K + j] records of class k were taken for class j; sign labels: K = 2, -1
  /// before +1.
  std::vector<std::uint64_t> confusion;
  std::optional<ScoreCalibration> calibration;  ///< where scores are logits
  std::size_t classes() const { return by_class.size(); }
};

struct AssessmentRequest {
  bool with_roc = false;
  std::int64_t resamples = 0;             ///< for intervals; 0: none
  std::optional<Grouping> grouping = {};  ///< in place of the objective's
};

/// How the model at w does on these labelled records. Collective; valid on the root. Throws ConfigError on all
/// ranks if there are more groups than the grouping allows.
Assessment assess(const Communicator& comm, Objective& objective, std::span<const float> w, const Shard& shard,
                  const AssessmentRequest& request = {});

std::string class_name(const Objective& objective, std::size_t k);
/// All of it but the ROC curve: records, metrics, intervals and constants; where there are some, classes, groups,
/// confusion and calibration. A metric without a value is null.
nlohmann::ordered_json assessment_json(const Assessment& a);

}  // namespace dpmpi
