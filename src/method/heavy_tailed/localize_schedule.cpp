#include "method/heavy_tailed/localize_schedule.hpp"

#include <algorithm>

#include "core/numbers/real.hpp"
#include "method/heavy_tailed/aggregate.hpp"
#include "method/heavy_tailed/strongly_convex_rounds.hpp"

namespace dpmpi {
namespace {

constexpr ErmFailures of_one_fold{}, of_many_folds{0.045, 0.045, 0.01};  // folds succeed with probability 0.9
constexpr std::uint64_t most_rounds = 8;

std::uint64_t most_phases(const HtLocalizeSettings& settings, const HeavyTailProblem& problem) {
  return settings.phases > 0 ? whole(settings.phases) : localization_phases({}, problem.records);
}

std::uint64_t folds_for_guarantee(const HtLocalizeSettings& settings, const HeavyTailProblem& problem) {
  if (settings.folds > 0) return whole(settings.folds);
  const double all_phases =
      real(most_phases(settings, problem)) * (settings.strong_convexity > 0 ? most_rounds : 1);
  return folds_for(1 - of_many_folds.total(), settings.fail_prob / all_phases);
}

// The minimiser of a phase is within G_1 / lambda of its start; the plan's bound has G_2 (the paper's 2 G_1).
void append(FoldedSchedule& all, const LocalizedPlan& round, double domain, const HtLocalizeSettings& settings) {
  all.folds = round.folds, all.bound = round.bound;
  for (std::size_t i = 0; i < round.phases.size(); ++i) {
    FoldedPhase phase{round.phases[i]};
    phase.lambda *= settings.lambda_scale;
    if (settings.clip > 0) phase.solver.settings.clip = settings.clip;
    phase.reach = settings.moments.tail.second / phase.lambda, phase.domain = domain, phase.begins_round = i == 0;
    all.phases.push_back(phase);
  }
}

}  // namespace

void HtLocalizeSettings::declare(Options& options) {
  moments.declare(options);
  options.add("folds", folds, "folds J of a phase (0: as many as fail_prob asks for)", Range::at_least(0))
      .add("fail_prob", fail_prob, "chance that the bound on the error may fail; with folds = 0", Range::open(0, 1))
      .add("phases", phases, "phases (0: the number with the best bound); fewer where folds would be empty",
           Range::at_least(0))
      .add("steps", steps, "steps T of a fold (0: max(64, m^2 rho / d), m its records)", Range::at_least(0))
      .add("clip", clip, "clip in every phase, a public constant (0: by the moments)", Range::non_negative())
      .add("rate", rate,
           "largest step size, e.g. 1 over the curvature of the mean loss (0: 4 / (lambda (t + 1)) alone)",
           Range::non_negative())
      .add("lambda_scale", lambda_scale, "factor on the planned regularisers", Range::closed(1e-12, 1e12))
      .add("strong_convexity", strong_convexity,
           "m of an m-strongly convex risk, e.g. objective.l2: rounds in shrinking balls (0: one round)",
           Range::closed(0, 1e12))
      .add("seed", seed, "public seed of the start point and of the cut into folds", Range::at_least(0));
}

FoldedSchedule plan_folds(const HtLocalizeSettings& settings, const PublicFacts& facts) {
  const HeavyTailProblem problem = settings.moments.problem(facts);
  const double convexity = settings.strong_convexity;
  FoldedSchedule all;
  const std::uint64_t J = folds_for_guarantee(settings, problem);
  const auto round = [&](double records, double radius) {
    HeavyTailProblem part = problem;
    part.records = records, part.diameter = radius;
    return plan_localized_erm(part, J, most_phases(settings, part), J > 1 ? of_many_folds : of_one_fold,
                              whole(settings.steps), whole(settings.phases));
  };
  if (convexity == 0) {
    append(all, round(problem.records, problem.diameter), problem.diameter, settings);
  } else {
    const double radius = std::min(problem.diameter, 2 * problem.tail.first / convexity);
    const StrongSchedule rounds =
        plan_strong(facts.data.records, radius, convexity, [&](double m) { return round(m, 1).bound; });
    for (const StrongPhase& r : rounds.phases) append(all, round(real(r.records), r.radius), r.radius, settings);
    all.bound = rounds.excess;
  }
  if (settings.clip > 0 || settings.lambda_scale != 1 || settings.rate > 0) all.bound = 0;  // not of these settings
  return all;
}

Disjoint FoldedSchedule::rule(std::uint64_t seed) const {
  Disjoint rule;
  rule.seed = seed;
  for (const FoldedPhase& phase : phases)
    rule.parts.insert(rule.parts.end(), folds,
                      {phase.fold_records, phase.solver.settings.steps, phase.solver.settings.clip});
  return rule;
}

}  // namespace dpmpi
