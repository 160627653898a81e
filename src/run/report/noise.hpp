#pragma once
// What a run releases, and how much noise is in it: from the plan alone.

#include <string>

#include "run/report/run_record.hpp"

namespace dpmpi {

/// Every release, and the length of its noise against that of its sum.
std::string releases_section(const RunRecord& run);
/// The noise of running sums over their leaves.
std::string running_sum_section(const RunRecord& run);

}  // namespace dpmpi
