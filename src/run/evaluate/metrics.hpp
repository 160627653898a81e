#pragma once
// How well a model does on labelled records, beyond the metrics of a run: which classes are confused, and whether
// its probabilities are to be believed. Sums are exact: the same numbers on any number of ranks.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "comm/communicator.hpp"
#include "run/evaluate/evaluate.hpp"

namespace dpmpi {

/// Predicted probabilities against what was found, in ten bins of equal width. Of sign labels: the probability of
/// +1; of classes: that of the predicted class, found if it is the true one.
struct ScoreCalibration {
  struct Bin {
    std::uint64_t records = 0;
    double predicted = 0, found = 0;  ///< means over the bin's records
  };
  std::array<Bin, 10> bins;
  double error = 0;  ///< mean of |predicted - found| over the records, bin by bin (expected calibration error)
};

struct Assessment {
  Evaluation evaluation;
  std::optional<double> absolute_error;  ///< real and count labels: the mean of |score - label|
  /// Sign and class labels: confusion[k * K + j] records of class k were taken for class j; sign labels: K = 2, -1
  /// before +1.
  std::vector<std::uint64_t> confusion;
  std::optional<ScoreCalibration> calibration;  ///< where scores are logits
  std::size_t classes() const;
};

/// How the model at w does on these labelled records. Collective; valid on the root.
Assessment assess(const Communicator& comm, Objective& objective, std::span<const float> w, const Shard& shard,
                  bool with_roc = false);

/// Every metric, in the order in which they are shown.
std::vector<std::pair<std::string, double>> metrics_of(const Objective& objective, const Assessment& a);
std::string class_name(const Objective& objective, std::size_t k);
/// All of it but the ROC curve: records, metrics, and, where there are some, classes, confusion and calibration.
nlohmann::ordered_json assessment_json(const Objective& objective, const Assessment& a);

}  // namespace dpmpi
