#pragma once
// What public records say of a training before its first step and after its last one. Nothing of it touches a
// private record, and nothing of it changes what a run does.

#include "comm/communicator.hpp"
#include "data/records/blocks.hpp"
#include "method/method.hpp"
#include "run/config/config.hpp"
#include "run/warnings/warning.hpp"

namespace dpmpi {

/// At a method's start point: features of very different size, and what the clip cuts. `queries`: the method's,
/// declared. `names` of the features, a line for each, as far as the root knows them. Takes the objective to
/// another point. Collective; valid on the root.
Findings look_before_training(const Communicator& comm, Objective& objective, Algorithm& at_start,
                              const std::vector<Query>& queries, const Shard& public_records,
                              const std::string& names);
/// The same for a config whose data was opened and whose training was not begun: no noise is calibrated for it.
/// Throws as make_outline does.
Findings look_before_training(const Communicator& comm, const RunConfig& config, const PublicFacts& facts,
                              Objective& objective, const Shard& public_records);
/// What the clip cuts at the last iterate. Likewise.
Findings look_after_training(const Communicator& comm, Objective& objective, Algorithm& at_end,
                             const std::vector<Query>& queries, const Shard& public_records);

}  // namespace dpmpi
