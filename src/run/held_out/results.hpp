#pragma once
// What an evaluation on held-out records found, as a file and in words.

#include <string>

#include <nlohmann/json.hpp>

#include "run/held_out/counts.hpp"

namespace dpmpi {

/// evaluation.json: the noisy counts and all that follows from them. Signs: roc, and counts of -1 and +1 by bin;
/// classes: confusion, and counts of wrong and of right predictions by bin. A metric of which the noise leaves
/// nothing to say has the value null. It says which rules are in force.
nlohmann::ordered_json results_json(const NoisyCounts& counts, const EvaluationPlan& plan);

/// Adds "test.NAME", "test.NAME.low" and "test.NAME.high" of every metric to a line of metrics.jsonl. `results`: of
/// results_json.
void add_results(const nlohmann::ordered_json& results, nlohmann::ordered_json& line);

/// "test.accuracy 0.9131 (0.9070 to 0.9190)", ...: the first of them, for the end of a run.
std::string results_text(const nlohmann::ordered_json& results);

}  // namespace dpmpi
