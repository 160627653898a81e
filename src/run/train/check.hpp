#pragma once
// A run that ends before it begins: everything is looked at that a run reads, and nothing is released.

#include "comm/communicator.hpp"
#include "run/config/config.hpp"

namespace dpmpi {

/// Public facts of inputs that a run can begin with.
struct CheckedInputs {
  DatasetFacts training, evaluation;  ///< of data.eval; no records: there is none
  std::uint32_t blocks = 1;
};

/// Throws everything at once that train() refuses before it looks for noise: a run directory that is taken, files
/// that are missing, every column that is wrong, with its first line. Leaves nothing behind. Collective; the same
/// message on any number of ranks, but for what the number itself is too large for.
CheckedInputs check_inputs(const Communicator& comm, const RunConfig& config);

}  // namespace dpmpi
