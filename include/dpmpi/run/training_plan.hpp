#pragma once
// The promise to those on whose records models are trained while others' records are used to choose among the
// models (objective `tune_private`): that of all trainings together.

#include <memory>
#include <string>
#include <vector>

#include "dpmpi/run/plan.hpp"
#include "dpmpi/run/searched_config.hpp"

namespace dpmpi {

class PrivateTuning;

/// What accounting says of them.
struct TrainingPromise {
  Promise trainings;  ///< all of them: to who is in the trainer's data
  Promise both;       ///< and all other releases of the run: to who is in both sets
  void archive(Archive& archive);
};

struct TrainingPlan {
  Plan plan;            ///< of a training in the middle of the box; plan.runs: of trainings at most
  std::size_t dim = 0;  ///< parameters of a model
  Promise both;         ///< at the smaller of the two deltas
};

/// The objective of these facts if it trains models on private records; else null.
const PrivateTuning* private_tuning(const PublicFacts& facts);

/// `plan`: the one of the config whose objective trains. Local, deterministic. Throws ConfigError if the method
/// does not say how many models it asks for.
TrainingPromise make_training_promise(const RunConfig& config, const PublicFacts& facts, const Plan& plan);
/// Throws ConfigError, naming the option, if trainings elsewhere in the box cost something else than in its middle.
std::shared_ptr<const TrainingPlan> make_training_plan(const RunConfig& config, const PublicFacts& facts,
                                                       const TrainingPromise& promise);

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
