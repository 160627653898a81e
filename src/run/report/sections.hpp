#pragma once
// Smaller sections of a page.

#include <string>
#include <vector>

#include "run/report/run_record.hpp"

namespace dpmpi {

/// What the training was: sizes, method, program.
std::string training_section(const RunRecord& run);
/// What a search found: settings that were chosen in private.
std::string chosen_section(const RunRecord& run);
/// What a method says about its own state, over steps.
std::string method_section(const std::vector<RunRecord>& runs);
/// Pictures that the model makes.
std::string samples_section(const RunRecord& run);
std::string settings_section(const RunRecord& run);
/// How anybody can check the run.
std::string evidence_section(const RunRecord& run);

}  // namespace dpmpi
