#pragma once
// One of the trainings of a search, planned by itself: it must be what the plan of all of them says it is.

#include <memory>
#include <string>
#include <vector>

#include "run/plan/trains_models.hpp"
#include "run/search/searched_config.hpp"

namespace dpmpi {

/// The training with some settings, ready to be run.
struct PlannedTraining {
  std::unique_ptr<RunConfig> config;
  std::unique_ptr<Objective> objective;
  PublicFacts facts;
  Plan plan;
};
/// Throws ConfigError if it has other events, or a model of another size, than that of the plan.
PlannedTraining plan_training(const SearchedConfig& search, const std::vector<std::string>& settings,
                              const DatasetFacts& data, const TrainingPlan& plan);

}  // namespace dpmpi
