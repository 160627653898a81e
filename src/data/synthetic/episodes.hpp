#pragma once
// Logged transitions with a column that names their episode, as one record for each episode.

#include <string>

#include "data/records/records.hpp"

namespace dpmpi {

/// Rows of `steps` times (the transition's other features, its label), zeros where an episode has fewer; label: how
/// many it has. Episodes are runs of rows with one value of feature `column` (from 1), in the order of the rows.
/// dense_f32 only. Local. Throws ConfigError where the column or the storage does not fit, DataError with the row's
/// number where an episode has more than `steps` transitions or is not in one piece: half of it would be a record
/// of its own, which the guarantee counts apart.
/// `file`: what messages call the transitions.
Records group_episodes(const Records& transitions, std::size_t column, std::size_t steps, const std::string& file);

}  // namespace dpmpi
