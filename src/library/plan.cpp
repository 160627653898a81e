#include "dpmpi/dpmpi.hpp"

#include <utility>

#include "comm/communicator.hpp"
#include "library/guarded.hpp"
#include "run/planned_config.hpp"

namespace dpmpi {
namespace {

library::Planned planned(const std::string& path, library::Settings settings) {
  const PlannedConfig config = planned_config(Communicator::alone(), path, std::move(settings));
  const Plan plan = config.plan();
  const Guarantee& promise = plan.promise.guarantee;
  std::string json = plan_json(plan, *config.config, config.facts);
  return {.promise = {promise.epsilon, promise.delta, std::string(name(plan.adjacency))},
          .noise_multiplier = plan.promise.noise_multiplier,
          .steps = plan.steps,
          .records = config.all.records,
          .parameters = config.objective->dim(),
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
