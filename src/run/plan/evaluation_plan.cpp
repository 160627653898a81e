#include "run/plan/evaluation_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "run/plan/made_by_root.hpp"
#include "run/plan/trains_models.hpp"

namespace dpmpi {
namespace {

QuerySpec counted(const std::string& name, std::size_t dim, double noise_multiplier, double budget) {
  return {.name = name,
          .dim = dim,
          .sampling = FullBatch{},
          .bound = {1},
          .noise_multiplier = noise_multiplier / std::sqrt(budget),
          .steps = 1,
          .kind = ExactSum{.one_hot = true}};
}

Releases releases_of(const EvaluationPlan& plan) {
  return {[counted = plan.counted](double multiplier) { return counted.queries(multiplier); }, plan.layout, 1,
          plan.adjacency};
}

/// All but queries and promise.
EvaluationPlan outline_of(const Objective& objective, const RunConfig& config, const Plan& training,
                          const HeldOut& part) {
  EvaluationPlan plan;
  plan.data = part.held_out();
  plan.layout = part.held_out_layout(training.layout);
  plan.adjacency = training.adjacency;
  plan.counted = CountedScores::of(objective, config.objective_name);
  return plan;
}

Promise promise_like(const RunConfig& config, const EvaluationPlan& plan, const Plan& training) {
  if (!config.is_private()) return no_promise(plan.adjacency, training.delta());
  if (std::isinf(training.epsilon()))
    throw PrivacyError(
        "data.test_share: the noise of the training is too small for any bound, so there is no promise that the "
        "evaluation could keep; choose a larger privacy.noise_multiplier");
  if (training.delta() * static_cast<double>(plan.data.units()) > 1)
    throw PrivacyError(
        fmt::format("privacy.delta = {} is above 1/n for the {} that are held out: choose a smaller one",
                    training.delta(), plan.data.units()));
  return promise_of_counts(config, plan, training.epsilon(), training.delta());
}

}  // namespace

Promise promise_of_counts(const ReleaseTerms& terms, const EvaluationPlan& outline, double epsilon, double delta) {
  return promise_of(terms, releases_of(outline), 0, epsilon, delta);
}

EvaluationPlan with_promise(EvaluationPlan plan, const ReleaseTerms& terms, Promise promise) {
  const auto declared = [&] { return releases_of(plan).declare(terms, promise.noise_multiplier); };
  // The noise of a count is the same for any number of bins.
  plan.counted.choose_bins(plan.data.units(), declared()[1].noise_std);
  plan.queries = declared();
  plan.promise = std::move(promise);
  if (terms.is_private) refuse_short_noise(plan.queries, 1, plan.promise.guarantee);
  return plan;
}

CountedScores CountedScores::of(const Objective& objective, const std::string& name, const std::string& asked_by) {
  const LabelKind kind = objective.label_kind();
  const std::size_t classes = kind == LabelKind::sign ? 2 : objective.classes();
  const bool scored = kind == LabelKind::sign ? objective.outputs() == 1 : objective.outputs() == classes;
  if (is_quantity(kind) || !scored || trains_models(&objective))
    throw ConfigError(fmt::format(
        "{}: the evaluation on held-out records counts classes and scores, and objective.name = {} has none; leave "
        "it out, or choose an objective that tells classes apart",
        asked_by, name));
  if (objective.record_factors.weight)
    throw ConfigError(
        fmt::format("{}: the evaluation counts every held-out record once, and data.columns has a column of kind "
                    "weight: leave one of the two out",
                    asked_by));
  return {.signs = kind == LabelKind::sign, .classes = classes, .logits = objective.scores_are_logits()};
}

std::vector<QuerySpec> CountedScores::queries(double z) const {
  std::vector<QuerySpec> all;
  const double loss = logits ? 0.1 : 0, scores = 0.05, confusion = signs ? 0 : 0.4;
  all.push_back(counted("test_scores", 2 * cells_of_sign, z, scores));
  all.push_back(counted("test_counts", 2 * bins, z, 1 - loss - scores - confusion));
  if (!signs) all.push_back(counted("test_classes", classes * classes, z, confusion));
  if (!logits) return all;
  all.push_back(counted("test_loss", 1, z, loss));
  all.back().bound.clip = largest_loss;
  all.back().kind = ExactSum{};
  return all;
}

namespace {

thread_local int rules_in_force = EarlierRules::today;

}  // namespace

EarlierRules::EarlierRules(int rules) : before_(std::exchange(rules_in_force, rules)) {}
EarlierRules::~EarlierRules() { rules_in_force = before_; }
int EarlierRules::in_force() { return rules_in_force; }

// Noise of an area grows with the root of the number of bins, and what they do not tell of it falls with its
// square: together they are least near 14 bins of 90 deviations. For fewer records there are bins enough at 40.
void CountedScores::choose_bins(std::uint64_t units, double noise_std) {
  const auto n = static_cast<double>(units);
  const bool before = EarlierRules::in_force() < EarlierRules::today;
  const auto filled = [&](double deviations, double most) {
    return std::min(most, n / std::max(20.0, deviations * noise_std));
  };
  bins = static_cast<std::size_t>(std::max(8.0, filled(40, 16)));
  halvings = 0;
  if (!signs || EarlierRules::in_force() == EarlierRules::first) return;
  const double all = std::floor(std::max({8.0, filled(40, before ? 16 : 14), filled(200, 32)}));
  const auto fewest = [&] { return std::max(20.0, (before || halvings == 0 ? 20 : 40) * noise_std); };
  for (double highest = n / all / 2; halvings < 6 && highest >= fewest(); highest /= 2) ++halvings;
  bins = std::max(std::size_t{8}, static_cast<std::size_t>(all) - halvings) + halvings;
}

std::size_t CountedScores::cell(double score) {
  if (std::isnan(score)) score = 0;  // as metrics on public records take it
  const double octave = std::log2(std::abs(score)) + octaves / 2.0;
  double place = octave < 0 ? 0 : 1 + std::floor(octave * per_octave);
  place = std::clamp(place, 0.0, static_cast<double>(cells_of_sign - 1));
  const auto up = static_cast<std::size_t>(place);
  return score > 0 ? cells_of_sign + up : cells_of_sign - 1 - up;
}

double CountedScores::edge(std::size_t cell) {
  const auto size = [](std::size_t up) {
    return up == 0 ? 0 : std::exp2(static_cast<double>(up - 1) / per_octave - octaves / 2.0);
  };
  if (cell >= cells_of_sign) return size(cell - cells_of_sign);
  return cell == 0 ? -std::numeric_limits<double>::infinity() : -size(cells_of_sign - cell);
}

std::vector<Event> EvaluationPlan::events() const { return events_of(queries, 0, 1); }

EvaluationPlan make_evaluation_plan(const RunConfig& config, const Objective& objective, const Plan& training,
                                    const HeldOut& part) {
  const EvaluationPlan outline = outline_of(objective, config, training, part);
  return with_promise(outline, config, promise_like(config, outline, training));
}

EvaluationPlan evaluation_plan_on_all_ranks(const Communicator& comm, const RunConfig& config,
                                            const Objective& objective, const Plan& training, const HeldOut& part) {
  const EvaluationPlan outline = outline_of(objective, config, training, part);
  return with_promise(outline, config,
                      made_by_root<Promise>(comm, [&] { return promise_like(config, outline, training); }));
}

std::vector<std::pair<double, double>> attacker_of_everybody(const Plan& plan) {
  auto table = plan.promise.attacker;
  if (!plan.evaluation) return table;
  const auto& held_out = plan.evaluation->promise.attacker;
  verify(table.size() == held_out.size(), "both tables are of the same rates");
  for (std::size_t i = 0; i < table.size(); ++i) {
    verify(table[i].first == held_out[i].first, "both tables are of the same rates");
    table[i].second = std::max(table[i].second, held_out[i].second);
  }
  return table;
}

}  // namespace dpmpi
