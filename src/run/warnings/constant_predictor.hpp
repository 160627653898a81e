#pragma once
// What the best constant does on the public records: one score for all of them, chosen by their own labels. A model
// that is worse has learned nothing that is of use there.

#include <optional>
#include <string_view>
#include <vector>

#include "comm/communicator.hpp"
#include "data/records/blocks.hpp"
#include "objective/objective.hpp"
#include "run/evaluate/evaluate.hpp"
#include "run/warnings/warning.hpp"

namespace dpmpi {

struct ConstantPredictor {
  std::optional<double> loss;      ///< where the loss is a function of scores and labels
  std::optional<double> accuracy;  ///< the share of the largest class: of objectives that have an accuracy

  std::vector<Measure> measures() const;  ///< constant.*
  /// Where the model's loss, or with none to compare its AUC or accuracy, is the worse one; or where all records
  /// have one label: a constant is right then, and no model better.
  std::optional<Warning> warning(const Evaluation& model) const;
};

/// Collective; valid on the root.
ConstantPredictor best_constant(const Communicator& comm, const Objective& objective, const Shard& shard);

}  // namespace dpmpi
