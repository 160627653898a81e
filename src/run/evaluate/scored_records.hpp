#pragma once
// Labelled records beside what a model says of them, all on the root: what metrics are computed from.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "data/records/blocks.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

struct ScoredRecords {
  std::size_t classes = 0;  ///< 2 for sign labels; 0: labels are no names, or the model does not say them
  bool ranked = false;      ///< by the score of sign labels: the highest first
  bool quantities = false;  ///< real and count labels, which the model says

  // Of each record; a column of which there is nothing to say is empty.
  std::vector<float> loss;         ///< bounded_loss()
  std::vector<float> label;        ///< classes: 0, 1, ...
  std::vector<float> predicted;    ///< the class, or the quantity
  std::vector<float> score;        ///< where records are ranked
  std::vector<float> probability;  ///< from logits: of +1, or of the predicted class; NaN if they are not finite
  std::vector<float> group;        ///< NaN: in none
  std::vector<float> weight;       ///< of a table with a column of weights; else every record counts once

  std::size_t size() const { return loss.size(); }
  ScoredRecords some(std::span<const std::uint32_t> chosen) const;  ///< these, in this order
};

/// The group of a record; NaN: none.
using GroupRule = std::function<float(const Records& records, std::uint32_t row)>;

/// In the order of the file, unless they are ranked: the same on any number of ranks. Collective; without records
/// but on the root.
ScoredRecords score_records(const Communicator& comm, Objective& objective, std::span<const float> w,
                            const Shard& shard, const GroupRule& group);

}  // namespace dpmpi
