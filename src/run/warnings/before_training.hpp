#pragma once
// What public records say of a training before its first step and after its last one. Nothing of it touches a
// private record, and nothing of it changes what a run does.

#include "comm/communicator.hpp"
#include "data/records/blocks.hpp"
#include "method/method.hpp"
#include "run/config/config.hpp"
#include "run/warnings/warning.hpp"

namespace dpmpi {

/// At a method's start point: features of very different size, and what the clip cuts. `work`: flops of a record's
/// part in a step (work_of_record). Takes the algorithm's objective to another point. Collective; valid on the
/// root.
Findings look_before_training(const Communicator& comm, Algorithm& at_start, double work,
                              const Shard& public_records);
/// The same for a config whose data was opened and whose training was not begun: no noise is calibrated for it.
/// Throws as make_outline does.
Findings look_before_training(const Communicator& comm, const RunConfig& config, const PublicFacts& facts,
                              Objective& objective, const Shard& public_records);
/// What the clip cuts at the last iterate. Likewise.
Findings look_after_training(const Communicator& comm, Algorithm& at_end, double work, const Shard& public_records);

/// Of the queries of a plan the most for one record, in flops.
double work_of_record(const Objective& objective, const std::vector<Query>& queries);

}  // namespace dpmpi
