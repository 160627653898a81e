#pragma once
// Where the time of a run went: for its owner alone.

#include <string>

#include "run/report/run_record.hpp"

namespace dpmpi {

/// Empty unless the run was read with its times.
std::string times_section(const RunRecord& run);

}  // namespace dpmpi
