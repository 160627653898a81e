#pragma once
// How far a point is from a stationary one, by public records.

#include <span>
#include <string>

#include "comm/communicator.hpp"
#include "data/records/blocks.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

/// Throws ConfigError, naming the objective, if it has no gradient that could be measured, or if there is no
/// data.eval to do it on.
void check_mean_gradient(const std::string& name, const Objective& objective, bool has_eval);

/// Norm of the mean gradient over the records of which `shard` is a share, with the public part. Of a min-max
/// problem: of its primal block, at the dual in w. A gradient longer than 128 counts as one of that length. The
/// same bits however the records are shared. Collective; on the root.
double mean_gradient_norm(const Communicator& comm, Objective& objective, std::span<const float> w,
                          const Shard& shard);

}  // namespace dpmpi
