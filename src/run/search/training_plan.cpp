#include "run/search/training_plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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

// One coordinate at a bound, or at a value of its list, the others in the middle: which option it is can be said.
// Then some points anywhere, where options may not fit together.
void check_box(const PrivateTuning& tuning, const TrainingPlan& plan) {
  const SearchedConfig& search = tuning.search();
  const auto& options = search.options();
  const auto check = [&](const std::vector<double>& point) { tuning.plan_training(search.settings(point), plan); };
  for (std::size_t j = 0; j < options.size(); ++j)
    for (const double level : options[j].levels()) {
      std::vector<double> point(options.size());
      point[j] = level;
      if (const std::string why = refusal_of([&] { check(point); }); !why.empty())
        throw ConfigError(fmt::format("{} cannot be searched for: {}", options[j].key, why));
    }
  constexpr std::uint64_t points = 32;
  for (std::uint64_t p = 0; p < points; ++p) {
    std::vector<double> point(options.size());
    const PublicStream stream(p, "points of the box");
    for (std::size_t j = 0; j < point.size(); ++j) point[j] = box_edge * (2 * stream.uniform(j) - 1);
    if (p % 2 == 0)
      for (double& x : point) x = std::copysign(box_edge, x);  // a corner
    check(point);
  }
}

// As it would be if noise were as large as the sensitivity: what is dearest then is dearest with any noise.
Plan draft_of(const TrainingAt& training) {
  return make_draft(*training.config, make_outline(*training.config, training.facts));
}

}  // namespace

TrainingPromise PrivateTuning::promise(const RunConfig& config, const Plan& plan) const {
  TrainingPromise promise;
  const Outline outline = make_outline(dearest_config(), dearest_.facts, most_trainings(config, plan));
  promise.trainings = make_promise(dearest_config(), dearest_.facts, outline);
  std::vector<Event> events = plan.events();
  for (const Event& event : make_plan(dearest_config(), outline, promise.trainings).events())
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
  const Outline outline = make_outline(dearest_config(), dearest_.facts, most_trainings(config, plan));
  training->plan = make_plan(dearest_config(), outline, promise.trainings);
  training->both = promise.both;
  if (training->plan.hides_times())
    throw ConfigError(
        fmt::format("objective.trainer: how long a run of {} takes follows what is secret in it, and "
                    "the times of a search would tell: use another method",
                    search_->base().method_name));
  check_box(*this, *training);
  return training;
}

TrainingAt make_training(const SearchedConfig& search, const std::vector<std::string>& settings,
                         const DatasetFacts& data) {
  TrainingAt training;
  training.config = search.with(settings);
  training.objective = make_objective(*training.config, data);
  training.facts = public_facts(*training.config, data, *training.objective);
  return training;
}

TrainingAt dearest_training(const SearchedConfig& search, const DatasetFacts& data) {
  std::vector<double> point(search.options().size());
  const auto at = [&] { return make_training(search, search.settings(point), data); };
  TrainingAt dearest = at();
  Plan draft = draft_of(dearest);
  for (std::size_t j = 0; j < point.size(); ++j)
    for (const double level : search.options()[j].levels()) {
      const double before = std::exchange(point[j], level);
      bool dearer = false;
      (void)refusal_of([&] {  // the check of the box says it
        TrainingAt other = at();
        Plan its = draft_of(other);
        const bool same = same_events(its.events(), draft.events());
        dearer = same ? its.largest_slack() > draft.largest_slack() : dominated(draft.events(), its.events());
        if (dearer) draft = std::move(its), dearest = std::move(other);
      });
      if (!dearer) point[j] = before;
    }
  return dearest;
}

PlannedTraining plan_training(const SearchedConfig& search, const std::vector<std::string>& settings,
                              const DatasetFacts& data, const TrainingPlan& plan, std::size_t dim) {
  PlannedTraining training{make_training(search, settings, data), {}};
  training.plan = make_plan(*training.config, make_outline(*training.config, training.facts, plan.plan.runs),
                            plan.plan.promise);
  if (!dominated(training.plan.events(), plan.plan.events()))
    throw ConfigError(fmt::format(
        "objective.search: a training with {} may cost more, in some way, than the dearest that was found "
        "in the box. Only Poisson batches, if method.steps is given, and numbers of steps may differ",
        fmt::join(settings, " ")));
  training.plan.method->check_assumptions(*training.objective);
  if (training.objective->dim() != dim)
    throw ConfigError(
        fmt::format("objective.search: a model with {} has {} parameters, another one {}: what decides on the size "
                    "of a model is searched for in a list, section.key:a|b|c",
                    fmt::join(settings, " "), training.objective->dim(), dim));
  return training;
}

}  // namespace dpmpi
