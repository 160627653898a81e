#pragma once
#include "comm/communicator.hpp"
#include "run/plan/time_estimate.hpp"

namespace dpmpi {

/// Measures this machine for predict(): messages of two sizes through the communicator, the objective's kernel on
/// synthetic records of the data's shape (never on data), and the noise generator; about a second. Collective; the
/// result is the same on all ranks. What cannot be measured (messages of a single rank) keeps its default, and
/// `source` says so.
Machine measure_machine(const Communicator& comm, const PublicFacts& facts, Objective& objective, float bias);

}  // namespace dpmpi
