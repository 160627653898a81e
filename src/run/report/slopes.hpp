#pragma once
// Runs that differ in one thing, as a line.

#include <string>
#include <vector>

#include "run/report/run_record.hpp"

namespace dpmpi {

/// Of three and more runs of one method and objective that differ in n, or in epsilon: final metrics against it,
/// with fitted slopes on logarithmic axes.
std::string slope_section(const std::vector<RunRecord>& runs);

}  // namespace dpmpi
