#pragma once
#include "comm/communicator.hpp"
#include "objective/objective.hpp"
#include "run/config/start.hpp"

namespace dpmpi {

/// Lets training start from the model that a config names, if it names one. The root reads the file, and all ranks
/// have its numbers. Collective; all ranks throw alike: DataError if it is missing, was changed since its SHA-256
/// was written down, or does not fit to the objective.
void give_start(const Communicator& comm, const StartOptions& start, Objective& objective);

}  // namespace dpmpi
