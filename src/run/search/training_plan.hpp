#pragma once
// One of the trainings of a search, planned by itself: it may cost no more than the plan of all of them says.

#include <memory>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "run/plan/trains_models.hpp"
#include "run/search/searched_config.hpp"

namespace dpmpi {

/// A training with some settings.
struct TrainingAt {
  std::unique_ptr<RunConfig> config;
  std::unique_ptr<Objective> objective;
  PublicFacts facts;
};
/// Throws ConfigError. The facts are of this objective.
TrainingAt make_training(const SearchedConfig& search, const std::vector<std::string>& settings,
                         const DatasetFacts& data);

/// The dearest training of the box, found from its middle by one option after another: the middle itself where all
/// cost the same. That it is the dearest is for the plan to check.
TrainingAt dearest_training(const SearchedConfig& search, const DatasetFacts& data);

/// Ready to be run.
struct PlannedTraining : TrainingAt {
  Plan plan;
};
/// Throws ConfigError if it may cost more than that of the plan, or if its model has not `dim` parameters;
/// ConfigError or PrivacyError if the settings do not fit together.
PlannedTraining plan_training(const SearchedConfig& search, const std::vector<std::string>& settings,
                              const DatasetFacts& data, const TrainingPlan& plan, std::size_t dim);

/// What forbids a training that `plan` makes, of its config or of its promise; empty: nothing does.
template <class Make>
std::string refusal_of(Make&& plan) {
  try {
    plan();
  } catch (const ConfigError& e) {
    return e.what();
  } catch (const PrivacyError& e) {
    return e.what();
  }
  return "";
}

}  // namespace dpmpi
