#pragma once
// Does a run directory say what its config makes of it? The promise is derived anew from config.ini and the public
// facts, and every file is compared with it; what stands in more than one place is compared with itself. Needs no
// data, no key and no other rank, and loads no plugin.

#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "run/certify/derived_run.hpp"

namespace dpmpi {

struct VerifiedItem {
  enum class State { good, absent, unchecked, warning, bad };
  State state = State::good;
  std::string place;  ///< file, and line or member, e.g. "ledger.jsonl:12"
  /// What was compared; what is wrong or to be known; why it is not there yet. unchecked: "MEMBER, MEMBER: why
  /// nobody can".
  std::string detail;
};

/// What follows from the counts in evaluation.json, and from the plan of the evaluation.
struct ResultsAgain {
  nlohmann::json file;  ///< the whole of it
  nlohmann::json line;  ///< the members "test.NAME" of the last line of metrics.jsonl
};
/// results_again (run/held_out/stated_results.hpp): a function of what stands in the file. It is handed in, because
/// whoever loads code of a run verifies first, and such a run has no held-out part. Without it the file's digest is
/// all that is compared.
using MakeResults = std::function<ResultsAgain(const nlohmann::json& stated, const EvaluationPlan& plan)>;

/// Every check up to the first bad one, which is the last item then. Works on finished and on stopped runs. Throws
/// ConfigError if `run` is not a folder.
std::vector<VerifiedItem> verify_run(const std::string& run, const MakeResults& make_results = {});
/// The same with what was derived before, of this config and these facts: cheap. Another config, or other facts in
/// plan.json, are bad then.
std::vector<VerifiedItem> verify_run(const std::string& run, const DerivedRun& derived,
                                     const MakeResults& make_results = {});

/// What verify_run(run) compares with. Throws as RunConfig and derive_run do.
DerivedRun derive_run(const std::string& run);

}  // namespace dpmpi
