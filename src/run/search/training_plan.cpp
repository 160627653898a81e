#include "run/search/training_plan.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "run/certify/certificate.hpp"
#include "run/search/tune_private.hpp"

namespace dpmpi {
namespace {

std::uint64_t most_trainings(const RunConfig& config, const Plan& plan) {
  const auto most = plan.method->most_points;
  if (!most)
    throw ConfigError(
        fmt::format("method.name = {} does not say beforehand how many models it will ask for, or keeps that "
                    "secret, and every model that objective.name = {} trains costs the trainer's people: use gibo",
                    config.method_name, config.objective_name));
  return *most;
}

// One coordinate at a bound, the others in the middle: which option it is can be said. Then some points anywhere,
// where options may not fit together.
void check_box(const PrivateTuning& tuning, const TrainingPlan& plan) {
  const SearchedConfig& search = tuning.search();
  for (std::size_t j = 0; j < search.keys().size(); ++j)
    for (const double bound : {-box_edge, box_edge}) {
      std::vector<double> point(search.keys().size());
      point[j] = bound;
      try {
        plan_training(search, search.settings(point), tuning.centre().data, plan);
      } catch (const ConfigError& e) {
        throw ConfigError(fmt::format("{} cannot be searched for: {}", search.keys()[j], e.what()));
      }
    }
  constexpr std::uint64_t points = 32;
  for (std::uint64_t p = 0; p < points; ++p) {
    std::vector<double> point(search.keys().size());
    const PublicStream stream(p, "points of the box");
    for (std::size_t j = 0; j < point.size(); ++j) point[j] = box_edge * (2 * stream.uniform(j) - 1);
    if (p % 2 == 0)
      for (double& x : point) x = std::copysign(box_edge, x);  // a corner
    plan_training(search, search.settings(point), tuning.centre().data, plan);
  }
}

}  // namespace

TrainingPromise PrivateTuning::promise(const RunConfig& config, const Plan& plan) const {
  TrainingPromise promise;
  const Outline outline = make_outline(centre_config(), centre_, most_trainings(config, plan));
  promise.trainings = make_promise(centre_config(), centre_, outline);
  std::vector<Event> events = plan.events();
  for (const Event& event : make_plan(centre_config(), outline, promise.trainings).events())
    events.push_back(event);
  const double delta = std::min(plan.delta(), promise.trainings.guarantee.delta);
  const bool is_private = config.is_private();
  promise.both.guarantee = certified(events, is_private, plan.adjacency, delta, config.privacy.accountant);
  promise.both.attacker =
      attacker_table(is_private ? events : std::vector<Event>(), plan.adjacency, promise.both.guarantee);
  return promise;
}

std::shared_ptr<const TrainingPlan> PrivateTuning::plan(const RunConfig& config, const Plan& plan,
                                                        const TrainingPromise& promise) const {
  auto training = std::make_shared<TrainingPlan>();
  const Outline outline = make_outline(centre_config(), centre_, most_trainings(config, plan));
  training->plan = make_plan(centre_config(), outline, promise.trainings);
  training->dim = objective_->dim();
  training->both = promise.both;
  if (training->plan.hides_times())
    throw ConfigError(
        fmt::format("objective.trainer: how long a run of {} takes follows what is secret in it, and "
                    "the times of a search would tell: use another method",
                    search_->base().method_name));
  check_box(*this, *training);
  return training;
}

PlannedTraining plan_training(const SearchedConfig& search, const std::vector<std::string>& settings,
                              const DatasetFacts& data, const TrainingPlan& plan) {
  PlannedTraining training;
  training.config = search.with(settings);
  training.objective = make_objective(*training.config, data);
  training.facts = public_facts(*training.config, data, *training.objective);
  training.plan = make_plan(*training.config, make_outline(*training.config, training.facts, plan.plan.runs),
                            plan.plan.promise);
  if (!same_events(training.plan.events(), plan.plan.events()))
    throw ConfigError(
        fmt::format("objective.search: a training with {} spends another part of the budget than one in the middle "
                    "of the box; all must cost the same",
                    fmt::join(settings, " ")));
  if (training.objective->dim() != plan.dim)
    throw ConfigError(
        fmt::format("objective.search: a model with {} has {} parameters, one in the middle of the box {}",
                    fmt::join(settings, " "), training.objective->dim(), plan.dim));
  return training;
}

}  // namespace dpmpi
