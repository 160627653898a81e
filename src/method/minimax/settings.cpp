#include "method/minimax/settings.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "method/schedule.hpp"

namespace dpmpi {

const SaddleObjective& saddle(const Objective* objective, const char* method) {
  const SaddleObjective* const f = objective->saddle();
  if (!f) throw ConfigError(fmt::format("{} solves min-max problems, and this objective is none", method));
  return *f;
}

void SaddleSettings::declare(Options& options) {
  options.add("batch", batch, "expected batch size (the public normaliser of means)", Range::at_least(1))
      .add("epochs", epochs, "passes over the data (expected, primal batches); or give method.steps",
           Range::positive())
      .add("steps", steps, "number of rounds R (0: from method.epochs)", Range::closed(0, most_steps))
      .add("sampling", sampling, "which records take part in a query", {"poisson", "wor", "full"})
      .add("clip", clip, "bound C_1 on the norm of one record's primal gradient", Range::positive())
      .add("dual_clip", dual_clip,
           "bound on the norm of the private part of one record's dual gradient (0: the objective's own bound)",
           Range::non_negative())
      .add("dual_rate", dual_rate, "learning rate eta_y of the dual (0: 0.3 / mu, mu the curvature of a quadratic)",
           Range::non_negative())
      .add_words("dual_schedule", dual_schedule,
                 "eta_y: the same always, divided by i + 1 in dual step i of a round, in the proportion of the "
                 "primal rate, or 1 / mu, the exact maximum of a quadratic",
                 {{"constant", DualSchedule::constant},
                  {"inverse", DualSchedule::inverse},
                  {"primal", DualSchedule::primal},
                  {"closed_form", DualSchedule::closed_form}})
      .add_words("output", output, "which pair is the result: the last, or one drawn uniformly by the public seed",
                 {{"last", Output::last}, {"uniform", Output::uniform}})
      .add("seed", seed, "public seed of start point and output", Range::at_least(0));
  descent.declare(options);
  options
      .add_words("prior", private_prior,
                 "the share of positive records: a public constant of the objective, or released once with noise",
                 {{"public", false}, {"private", true}})
      .add("prior_noise", prior_noise, "deviation of the noise on the number of positive records (prior = private)",
           Range{.low = 0, .high = 1e10})
      .add("prior_least", prior_least, "the released share is moved into [this, 1 - this] (prior = private)",
           Range::closed(1e-9, 0.5));
}

void SaddleSettings::validate(std::vector<std::string>& problems) const {
  descent.validate(problems);
  if (dual_schedule == DualSchedule::closed_form && dual_rate > 0)
    problems.push_back(fmt::format(
        "method.dual_rate = {}, but method.dual_schedule = closed_form has the rate 1 / mu: remove one of the two",
        dual_rate));
}

SamplingRule SaddleSettings::rule(const DatasetFacts& data) const {
  return sampling_rule(sampling, batch, data.records);
}

std::uint64_t SaddleSettings::rounds(const DatasetFacts& data) const {
  if (steps > 0) return static_cast<std::uint64_t>(steps);
  return steps_of_epochs(epochs, data.records, expected_batch(rule(data), data.records));
}

double SaddleSettings::dual_bound(const SaddleObjective& f) const {
  const double bound = dual_clip > 0 ? dual_clip : f.dual_bound().value_or(0);
  if (!(bound > 0))
    throw ConfigError(
        "method.dual_clip = 0 is the objective's own bound, and this objective has none: give one above 0");
  return bound;
}

void SaddleSettings::check(const SaddleObjective& f) const {
  check_weights(f);  // first: the curvature of the dual has the mean weight
  if (descent.rate == 0 && !f.primal())
    throw ConfigError(
        "method.rate is needed: no record takes part in the primal's gradients, so that no noise says how large its "
        "steps may be");
  if (dual_rate == 0 && !(f.dual_curvature().value_or(0) > 0))
    throw ConfigError(
        "method.dual_rate = 0 is 0.3 / mu of a quadratic dual, and this objective has none: give a rate above 0");
  if (private_prior && !f.class_prior()) throw ConfigError("method.prior = private: this objective has no prior");
}

void SaddleSettings::check_weights(const SaddleObjective& f) const {
  const std::string& column = f.factor_columns.weight;
  if (f.record_factors.weight && f.given_mean_weight == 0)
    throw ConfigError(fmt::format(
        "objective.mean_weight is required, because {} is of kind weight: the mean of that column over the HIGH of "
        "its range, as a public constant above 0, at most 1; the data's own mean is not public",
        column));
  if (!f.record_factors.weight && f.given_mean_weight != 0)
    throw ConfigError(fmt::format(
        "objective.mean_weight = {} is about a column of kind weight, and data.columns has none: remove it",
        f.given_mean_weight));
  if (f.record_factors.weight && private_prior)
    throw ConfigError(fmt::format(
        "method.prior = private counts positive records, and {} is of kind weight, so that their share of all weights "
        "is needed: set method.prior = public, and objective.prior to a public constant",
        column));
}

}  // namespace dpmpi
