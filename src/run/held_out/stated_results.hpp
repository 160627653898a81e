#pragma once
// evaluation.json made again from the counts that stand in it: everything else there follows from them and from the
// plan.

#include <nlohmann/json.hpp>

#include "run/certify/verify.hpp"
#include "run/plan/evaluation_plan.hpp"

namespace dpmpi {

/// For verify_run. Throws DataError if the counts are not as many as were planned; JSON exceptions. Local.
ResultsAgain results_again(const nlohmann::json& stated, const EvaluationPlan& plan);

}  // namespace dpmpi
