#include "method/minimax/options.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "method/schedule.hpp"

namespace dpmpi {

const SaddleObjective& saddle(const Objective* objective, const char* method) {
  const auto* f = dynamic_cast<const SaddleObjective*>(objective);
  if (!f) throw ConfigError(fmt::format("{} solves min-max problems, and this objective is none", method));
  return *f;
}

void SaddleOptions::declare(Options& options) {
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
      .add("dual_schedule", dual_schedule,
           "eta_y: the same always, divided by i + 1 in dual step i of a round, in the proportion of the primal "
           "rate, or 1 / mu, the exact maximum of a quadratic",
           {"constant", "inverse", "primal", "closed_form"})
      .add("output", output, "which pair is the result: the last, or one drawn uniformly by the public seed",
           {"last", "uniform"})
      .add("seed", seed, "public seed of start point and output", Range::at_least(0));
  descent.declare(options);
  options
      .add("prior", prior,
           "the share of positive records: a public constant of the objective, or released once with noise",
           {"public", "private"})
      .add("prior_noise", prior_noise, "deviation of the noise on the number of positive records (prior = private)",
           Range{.low = 0, .high = 1e10})
      .add("prior_least", prior_least, "the released share is moved into [this, 1 - this] (prior = private)",
           Range::closed(1e-9, 0.5));
}

void SaddleOptions::validate(std::vector<std::string>& problems) const {
  descent.validate(problems);
  if (dual_schedule == "closed_form" && dual_rate > 0)
    problems.push_back(fmt::format(
        "method.dual_rate = {}, but method.dual_schedule = closed_form has the rate 1 / mu: remove one of the two",
        dual_rate));
}

SamplingRule SaddleOptions::rule(const DatasetFacts& data) const {
  return sampling_rule(sampling, batch, data.records);
}

std::uint64_t SaddleOptions::rounds(const DatasetFacts& data) const {
  if (steps > 0) return static_cast<std::uint64_t>(steps);
  return steps_of_epochs(epochs, data.records, expected_batch(rule(data), data.records));
}

double SaddleOptions::dual_bound(const SaddleObjective& f) const {
  const double bound = dual_clip > 0 ? dual_clip : f.dual_bound().value_or(0);
  if (!(bound > 0))
    throw ConfigError(
        "method.dual_clip = 0 is the objective's own bound, and this objective has none: give one above 0");
  return bound;
}

void SaddleOptions::require_dual_rate(const SaddleObjective& f) const {
  if (dual_rate == 0 && !(f.dual_curvature().value_or(0) > 0))
    throw ConfigError(
        "method.dual_rate = 0 is 0.3 / mu of a quadratic dual, and this objective has none: give a rate above 0");
}

double SaddleOptions::dual_rate_at(const SaddleObjective& f, std::uint64_t r, std::uint64_t i) const {
  require_dual_rate(f);
  const double mu = f.dual_curvature().value_or(0);
  if (dual_schedule == "closed_form") return 1 / mu;
  const double rate = dual_rate > 0 ? dual_rate : 0.3 / mu;
  if (dual_schedule == "inverse") return rate / static_cast<double>(i + 1);
  return dual_schedule == "primal" ? rate * (descent.rate_at(r) / descent.rate_at(0)) : rate;
}

QuerySpec SaddleOptions::prior_query(const PublicFacts& facts, double noise_multiplier) const {
  if (!saddle(facts.objective, "method.prior = private").has_prior())
    throw ConfigError("method.prior = private: this objective has no prior");
  return {.name = "prior",
          .dim = 1,
          .sampling = FullBatch{},
          .bound = {1},
          // A record moves the count by 1 under either adjacency.
          .noise_multiplier = noise_multiplier > 0 ? prior_noise : 0,
          .steps = 1,
          .schedule = {.period = rounds(facts.data)},
          .kind = ExactSum{.one_hot = true},
          .effort = 0};
}

void ReleasedPrior::start(const SaddleOptions& options, const Query& query) {
  least_ = options.prior_least;
  if (options.private_prior()) query_ = query;
}

void ReleasedPrior::release(Curator& curator, SaddleObjective& objective, std::uint64_t round) {
  if (!query_ || round > 0) return;
  const Batch everyone = curator.draw(*query_, 0);
  const auto count = curator.release_exact(curator.sum(*query_, everyone, positives()));
  share_ = std::clamp(count[0] / static_cast<double>(query_->records), least_, 1 - least_);
  objective.set_prior(share_);
}

void ReleasedPrior::archive(Archive& archive, SaddleObjective& objective) {
  archive.field("prior", share_);
  if (archive.reading() && share_ > 0) objective.set_prior(share_);
}

}  // namespace dpmpi
