#pragma once
// What public records said of a training, for its report.

#include <string>
#include <vector>

#include "run/report/run_record.hpp"

namespace dpmpi {

/// The warnings of metrics.jsonl, and what the best constant reaches. Markup; empty where there is neither.
std::string warnings_section(const std::vector<RunRecord>& runs);

}  // namespace dpmpi
