#pragma once
// The lines of metrics.jsonl, held against the plan.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "run/certify/derived_run.hpp"
#include "run/config/config.hpp"

namespace dpmpi {

/// Throws Failure unless each line is of a step that the plan shows, the last step among them, with the epsilon
/// that was spent by then. `tested`: the members "test.NAME" of the last line, or null where nothing says what they
/// have to be. `place` becomes the line that is looked at, for whoever catches what JSON throws.
void check_metrics(const RunConfig& config, const DerivedRun& run, const std::vector<std::string>& lines,
                   const nlohmann::json& tested, std::string& place);

}  // namespace dpmpi
