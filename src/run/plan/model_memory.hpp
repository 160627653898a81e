#pragma once
// How much memory a model takes, for the check before a run.

#include <cstdint>
#include <string_view>

#include "objective/minimax/saddle.hpp"

namespace dpmpi {

/// Bytes of a rank that grow with the parameters and with the features of a record, at most. What layers keep of a
/// record is checked by themselves. The numbers of min-max problems are those of runs
/// (tests/run/plan/memory_test.cpp).
inline double model_memory(std::string_view method, Objective& objective, std::uint64_t features) {
  const auto parameters = static_cast<double>(objective.dim());
  // float32 iterate, gradient and release, the lattice's int32 and int64, the kernels' copy of the weights.
  if (!objective.saddle()) return 32 * parameters;
  // The published and the chosen point, the optimizer's sums, means in double and the noise of a release, too.
  if (method != "private-diff") return 120 * parameters;
  // The estimate, the last query's point, the weights at both points; and the records of a micro-batch, unpacked.
  const auto rows = static_cast<double>(objective.micro_batch_rows());
  return 288 * parameters + 4 * rows * static_cast<double>(features);
}

}  // namespace dpmpi
