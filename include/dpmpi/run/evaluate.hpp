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
  double loss = 0;                 ///< mean per-record loss without regulariser, to exact_unit()
  std::optional<double> accuracy;  ///< sign and class labels
  std::optional<double> auc;       ///< sign labels with both classes present; ties count one half
  std::vector<Measure> measures;   ///< the objective's own
};

/// Slots of this rank's blocks, with or without a record. Local.
std::uint64_t slots_of(const Shard& shard);

/// Collective; the result is valid on the root only.
Evaluation evaluate(const Communicator& comm, Objective& objective, std::span<const float> w, const Shard& shard);

/// The unit of exact sums over `records` numbers of size <= largest: 2^-24, or as fine as 64 bits have room for.
/// The same on any number of ranks. Local.
double exact_unit(double largest, std::uint64_t records);

/// Area under the ROC curve: the share of (positive, negative) pairs that `score` orders rightly, ties one half.
/// Empty if one class is missing. Local.
std::optional<double> area_under_curve(std::span<const float> score, std::span<const float> label);

}  // namespace dpmpi
