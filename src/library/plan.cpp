#include "dpmpi/dpmpi.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "comm/communicator.hpp"
#include "data/load/load.hpp"
#include "library/guarded.hpp"
#include "run/certify/named_code.hpp"
#include "run/objective/public_start.hpp"
#include "run/plan/evaluation_plan.hpp"
#include "run/plan/plan.hpp"
#include "run/suggest/suggest.hpp"

namespace dpmpi {
namespace {

library::Planned planned(const std::string& path, library::Settings settings) {
  const Communicator alone = Communicator::alone();
  auto config = std::make_unique<RunConfig>(path, settings);
  settle(alone, config, settings);
  const DatasetFacts all = inspect(alone, config->find_files().training);
  DatasetFacts data = all;
  const std::optional<HeldOut> parts = parts_of(config->data.test_share, data);
  verify_before_code(*config);
  const auto objective = make_objective(*config, data);
  give_start(alone, config->start, *objective);
  const PublicFacts facts = public_facts(*config, data, *objective);
  Plan plan = make_plan(*config, facts);
  if (parts)
    plan.evaluation =
        std::make_shared<const EvaluationPlan>(make_evaluation_plan(*config, *objective, plan, *parts));
  const Guarantee& promise = plan.promise.guarantee;
  std::string json = plan_json(plan, *config, facts);
  return {.promise = {promise.epsilon, promise.delta, std::string(name(plan.adjacency))},
          .noise_multiplier = plan.promise.noise_multiplier,
          .steps = plan.steps,
          .records = all.records,
          .parameters = objective->dim(),
          .json = std::move(json)};
}

}  // namespace

namespace library {

std::string version() { return DPMPI_VERSION; }

Planned plan(const std::string& config, const Settings& settings) {
  return guarded([&] { return planned(config, settings); });
}

}  // namespace library
}  // namespace dpmpi
