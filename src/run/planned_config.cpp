#include "run/planned_config.hpp"

#include "data/load/load.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "run/certify/named_code.hpp"
#include "run/objective/public_start.hpp"
#include "run/suggest/suggest.hpp"

namespace dpmpi {

PlannedConfig planned_config(const Communicator& comm, const std::string& path,
                             std::vector<std::string> overrides) {
  PlannedConfig planned;
  planned.config = std::make_unique<RunConfig>(path, overrides);
  settle(comm, planned.config, overrides);
  const RunConfig& config = *planned.config;
  planned.all = inspect(comm, config.find_files().training);
  DatasetFacts trained = planned.all;
  planned.parts = parts_of(config.data.test_share, trained);
  throw_on_all_ranks(comm, [&] {
    if (comm.is_root()) verify_before_code(config);
  });
  planned.objective = make_objective(config, trained);
  give_start(comm, config.start, *planned.objective);
  planned.facts = public_facts(config, trained, *planned.objective);
  return planned;
}

Plan PlannedConfig::plan() const {
  Plan plan = make_plan(*config, facts);
  if (parts)
    plan.evaluation =
        std::make_shared<const EvaluationPlan>(make_evaluation_plan(*config, *objective, plan, *parts));
  return plan;
}

}  // namespace dpmpi
