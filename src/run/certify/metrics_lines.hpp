#pragma once
// The lines of metrics.jsonl, held against the plan.

#include <string>
#include <vector>

#include "run/certify/derived_run.hpp"
#include "run/config/config.hpp"

namespace dpmpi {

/// Throws Failure unless each line is of a step that the plan shows, the last step among them, with the epsilon
/// that was spent by then. `place` becomes the line that is looked at, for whoever catches what JSON throws.
void check_metrics(const RunConfig& config, const DerivedRun& run, const std::vector<std::string>& lines,
                   std::string& place);

}  // namespace dpmpi
