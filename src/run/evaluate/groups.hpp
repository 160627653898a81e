#pragma once
// Groups of records, for which metrics are told apart.

#include <cstddef>
#include <functional>
#include <limits>
#include <string>

#include "objective/objective.hpp"
#include "run/evaluate/scored_records.hpp"

namespace dpmpi {

struct Grouping {
  GroupRule of;  ///< a number; NaN: no group
  std::function<std::string(float group)> name;
  std::size_t most = std::numeric_limits<std::size_t>::max();  ///< so many are allowed
};

/// Those that the objective tells apart: for most, none.
Grouping groups_of_objective(const Objective& objective);

/// By a feature, as the model sees it: its number from 1, or its name. Of a one-hot column `kind` a group is each
/// word, by the features kind=WORD, and one more of all other words. At most 50 groups: other columns are
/// measurements. Throws ConfigError that names --by if there is no such column, or if data.mean hides its words.
/// Local.
Grouping groups_by_column(const std::string& column, const DatasetFacts& facts, const ReadingRules& rules);

}  // namespace dpmpi
