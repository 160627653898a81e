#pragma once
// Metrics on a public evaluation set: exact, and the same on any number of ranks.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "data/records/blocks.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

/// Shares of false and of true positives, rising from (0, 0) to (1, 1).
using RocCurve = std::vector<std::pair<double, double>>;

struct Evaluation {
  std::uint64_t records = 0;
  double loss = 0;                 ///< mean loss, by the records' weights, without regulariser and class weights
  std::uint64_t not_finite = 0;    ///< records whose loss is no finite number
  std::optional<double> accuracy;  ///< sign and class labels, of objectives that have scores
  std::optional<double> auc;       ///< sign labels with both classes present; ties count one half
  std::vector<Measure> measures;   ///< the objective's own
  RocCurve roc;                    ///< where there is an auc, on request
};

/// Slots of this rank's blocks, with or without a record. Local.
std::uint64_t slots_of(const Shard& shard);

/// Calls visit(block, rows) for this rank's records in their order, some rows of a block at a time, empty slots
/// left out. `doing` is what progress calls it. Local.
void for_each_micro_batch(const Objective& objective, const Shard& shard, const std::string& doing,
                          const std::function<void(const Block& block, const Rows& rows)>& visit);

/// A loss that is no finite number, or larger than 1e6, counts as 1e6; one below -1e6 as that.
double bounded_loss(double loss);

/// `with_roc`: also the ROC curve. Collective; the result is valid on the root only.
Evaluation evaluate(const Communicator& comm, Objective& objective, std::span<const float> w, const Shard& shard,
                    bool with_roc = false);

/// Adds up `values` of all ranks on the root, to which each sends its own: they may be of private records, and a
/// reduction would pass sums of some ranks through the memory of others. Collective.
void add_on_root(const Communicator& comm, std::span<std::int64_t> values);

/// The numbers of all ranks, in the order of the ranks. Collective; valid on the root.
std::vector<float> gathered(const Communicator& comm, const std::vector<float>& mine);

/// The unit of exact sums over `records` numbers of size <= largest: 2^-24, or as fine as 64 bits have room for.
/// The same on any number of ranks. Local.
double exact_unit(double largest, std::uint64_t records);

/// Area under the ROC curve (no score is NaN): the share of (positive, negative) pairs that `score` orders rightly,
/// ties one half. `weight`: what records count; none: each once. Empty if one class is missing. Local.
std::optional<double> area_under_curve(std::span<const float> score, std::span<const float> label,
                                       std::span<const float> weight = {});

/// The ROC curve (no score is NaN) by falling thresholds, ties as one step; of its corners those that are at least
/// 1/200 apart in one of the shares. Weights as above. Empty if one class is missing. Local.
RocCurve roc_curve(std::span<const float> score, std::span<const float> label, std::span<const float> weight = {});

}  // namespace dpmpi
