#pragma once
// Metrics on a public evaluation set: exact, and the same on any number of ranks.

#include <optional>
#include <span>
#include <vector>

#include "dpmpi/comm/communicator.hpp"
#include "dpmpi/data/blocks.hpp"
#include "dpmpi/objective/objective.hpp"

namespace dpmpi {

struct Evaluation {
  std::uint64_t records = 0;
  double loss = 0;                 ///< mean per-record loss without regulariser, to 2^-24
  std::optional<double> accuracy;  ///< sign and class labels
  std::optional<double> auc;       ///< sign labels with both classes present; ties count one half
  std::vector<Measure> measures;   ///< the objective's own
};

/// Collective; the result is valid on the root only.
Evaluation evaluate(const Communicator& comm, Objective& objective, std::span<const float> w, const Shard& shard);

/// Area under the ROC curve: the share of (positive, negative) pairs that `score` orders rightly, ties one half.
/// Empty if one class is missing. Local.
std::optional<double> area_under_curve(std::span<const float> score, std::span<const float> label);

}  // namespace dpmpi
