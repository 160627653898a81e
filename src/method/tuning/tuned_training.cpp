#include "method/tuning/tuned_training.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/aligned.hpp"
#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/tuning/training_name.hpp"
#include "objective/values/clipped_losses.hpp"
#include "privacy/curves/repetition_law.hpp"
#include "privacy/promise/guarantee.hpp"

namespace dpmpi {
namespace {

/// A candidate with what it will do.
struct PlannedCandidate {
  std::vector<std::string> settings;
  std::shared_ptr<const MethodPlan> plan;

  std::string name() const { return training_name(settings); }
};

/// Which candidate a run trains: uniform in (0, 1) chooses uniformly.
std::size_t place(double uniform, std::size_t count) {
  return std::min(count - 1, static_cast<std::size_t>(uniform * real(count)));
}

// By the mu of Gaussian releases of which every record takes part in an expected share. It steers how the budget is
// shared out between training and score, and nothing rests on it.
double likely_mu(const std::vector<QuerySpec>& queries, std::uint64_t records) {
  double sum = 0;
  for (const QuerySpec& q : queries) {
    const double share = expected_share(q.sampling, records) / q.noise_multiplier;
    sum += real(q.steps) * share * share;
  }
  return std::sqrt(sum);
}

class TunedPlan final : public MethodPlan {
 public:
  TunedPlan(const TuningOptions& options, const PublicFacts& facts, std::vector<PlannedCandidate> candidates);

  std::vector<QuerySpec> queries(double noise_multiplier) const override;
  Derived report_quantities(const std::vector<Query>& queries) const override;
  std::string notes(const std::vector<Query>& queries) const override;
  void check_assumptions(Objective& objective) const override {
    for (const PlannedCandidate& candidate : candidates_) candidate.plan->check_assumptions(objective);
  }
  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  TuningOptions options_;
  std::uint64_t records_;
  double delta_;
  std::vector<PlannedCandidate> candidates_;
};

class TuneByRuns final : public Algorithm {
 public:
  TuneByRuns(double clip, const std::vector<PlannedCandidate>& candidates, Objective& objective, const Query& score)
      : clip_(clip),
        candidates_(candidates),
        objective_(objective),
        query_(score),
        losses_(objective, 1, clip),
        start_(objective.dim()),
        model_(objective.dim()) {
    // All of them, so that what is wrong with one is said before anything is drawn, whichever will be.
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const auto algorithm = started(i);
      if (i == 0) std::ranges::copy(algorithm->iterate(), start_.begin());
    }
    std::ranges::copy(start_, model_.begin());  // the model if there is no run
  }

  void step(Curator& curator, std::uint64_t t) override {
    const Selection selection = curator.best_of_runs(query_, t, [&](std::span<const double> uniforms) {
      train(curator, place(uniforms[0], candidates_.size()));
      return Repetition{losses_.sum(), 0, [&] { std::ranges::copy(losses_.point(0), model_.begin()); }};
    });
    if (!selection.any) return;
    chosen_ = 1 + place(selection.uniforms[0], candidates_.size());
    score_ = clip_ / 2 + selection.sum / real(query_.records);
  }

  std::span<const float> iterate() override { return model_; }
  std::vector<Measure> measures() const override {
    if (chosen_ == 0) return {};
    return {{"score", score_}};
  }
  std::vector<std::string> chosen() const override {
    if (chosen_ == 0) return {};
    return candidates_[chosen_ - 1].settings;
  }
  void archive(Archive& archive) override {
    archive.field("model", model_);
    archive.field("chosen", chosen_);
    archive.field("score", score_);
  }

 private:
  std::unique_ptr<Algorithm> started(std::size_t candidate) const {
    try {
      return candidates_[candidate].plan->start(objective_, (*query_.trainings)[candidate]);
    } catch (const ConfigError& e) {
      throw ConfigError(fmt::format("tune.search: {}: {}", candidates_[candidate].name(), e.what()));
    }
  }

  // Leaves the model where its losses are summed. A training that cannot go on from what was released to it leaves
  // the start point, and nobody learns of it: an error would tell of a run that need not be the selected one.
  void train(Curator& curator, std::size_t candidate) {
    try {
      train_to_end(curator, candidate);
    } catch (const ConfigError&) {
      std::ranges::copy(start_, losses_.point(0).begin());
    }
  }
  void train_to_end(Curator& curator, std::size_t candidate) {
    curator.train_in_run(query_, candidate, [&](Curator& own) {
      const auto algorithm = started(candidate);
      for (std::uint64_t t = 0; t < candidates_[candidate].plan->steps; ++t) algorithm->step(own, t);
      std::ranges::copy(algorithm->iterate(), losses_.point(0).begin());
    });
  }

  double clip_;
  std::vector<PlannedCandidate> candidates_;
  Objective& objective_;
  Query query_;
  ClippedLosses losses_;
  AlignedVector<float> start_, model_;
  std::uint64_t chosen_ = 0;  // from 1; 0: none
  double score_ = 0;
};

TunedPlan::TunedPlan(const TuningOptions& options, const PublicFacts& facts,
                     std::vector<PlannedCandidate> candidates)
    : options_(options), records_(facts.data.records), delta_(facts.delta), candidates_(std::move(candidates)) {
  steps = 1;
  std::set<std::string> all;
  for (const PlannedCandidate& candidate : candidates_) {
    all.insert(candidate.plan->assumptions.begin(), candidate.plan->assumptions.end());
    const Footprint& own = candidate.plan->footprint;
    if (own.ranks + own.root > footprint.ranks + footprint.root) footprint = own;
  }
  assumptions.assign(all.begin(), all.end());
}

// The score's noise grows with that of the training, so that every target can be kept.
std::vector<QuerySpec> TunedPlan::queries(double noise_multiplier) const {
  std::vector<RunCandidate> candidates;
  for (const PlannedCandidate& candidate : candidates_)
    candidates.push_back({candidate.name(), candidate.plan->queries(noise_multiplier)});
  const double mu = noise_multiplier > 0 ? likely_mu(candidates_.front().plan->queries(1), records_) : 1;
  return {{.name = "score",
           .dim = 1,
           .sampling = FullBatch{},
           .bound = ClippedLosses::bound(1, options_.clip),
           .slack = ClippedLosses::slack(),
           .noise_multiplier = noise_multiplier * std::sqrt(1 / options_.share - 1) / mu,
           .steps = steps,
           .kind = BestOfRuns{options_.chosen_law(), 1,
                              std::make_shared<const std::vector<RunCandidate>>(std::move(candidates))},
           .effort = 1.0 / 3}};
}

Derived TunedPlan::report_quantities(const std::vector<Query>& queries) const {
  const Query& score = queries.at(0);
  Derived all{{"E K", expected_repetitions(options_.chosen_law())},
              {"candidates", real(candidates_.size())},
              {"C", options_.clip},
              {"s", score.noise_std / real(score.records)}};
  return all;
}

// The price of tuning.
std::string TunedPlan::notes(const std::vector<Query>& queries) const {
  const Query& score = queries.at(0);
  if (!score.is_private()) return {};
  const Guarantee one = epsilon_guarantee(events_of_all(score.trainings->front()), score.adjacency, delta_, "best");
  return fmt::format(
      "one training with this noise, its settings chosen without looking at the records: epsilon {} at delta {:.6g}\n",
      rounded_up(one.epsilon), delta_);
}

std::unique_ptr<Algorithm> TunedPlan::start(Objective& objective, const std::vector<Query>& queries) const {
  return std::make_unique<TuneByRuns>(options_.clip, candidates_, objective, queries.at(0));
}

}  // namespace

void TuningOptions::declare(Options& options) {
  options
      .add("search", search,
           "method.key=value,value,...: settings to choose among in private, several apart by blanks; every "
           "combination is a candidate; empty: nothing is chosen")
      .add_words("distribution", law.distribution, "law of the number of trainings K",
                 {{"truncated_negative_binomial", Repetitions::truncated_negative_binomial},
                  {"poisson", Repetitions::poisson}})
      .add("shape", law.shape, "of truncated_negative_binomial: 1 geometric, 0 logarithmic",
           Range{.low = -1, .high = 100, .high_open = false})
      .add("gamma", law.gamma, "of truncated_negative_binomial: 1 / gamma trainings on average with shape 1",
           Range{.low = 1e-4, .high = 1, .low_open = false})
      .add("mean", law.mean, "of poisson: trainings on average", Range{.low = 0, .high = 1e4, .high_open = false})
      .add("clip", clip, "C: the losses of a score are clipped to [0, C], a public constant", Range::positive())
      .add("share", share, "of the budget of a run: about what its score takes, the training has the rest",
           Range::open(0, 1));
}

RepetitionLaw TuningOptions::chosen_law() const {
  if (law.distribution == Repetitions::poisson) return {.distribution = Repetitions::poisson, .mean = law.mean};
  return {.shape = law.shape, .gamma = law.gamma};
}

std::unique_ptr<const MethodPlan> TunedTraining::plan(const PublicFacts& facts) const {
  if (facts.objective->saddle())
    throw ConfigError(
        "tune.search: this objective is a min-max problem, whose value is no mean of losses of single records: "
        "trainings cannot be scored by it");
  if (facts.objective->label_kind() == LabelKind::count)
    throw ConfigError(
        "tune.search: losses of counts may be negative, and below 0 they count as 0 in a score: trainings cannot be "
        "told apart by it");
  std::vector<PlannedCandidate> candidates;
  for (const TuningCandidate& candidate : candidates_) {
    PlannedCandidate planned{candidate.settings, nullptr};
    try {
      planned.plan = candidate.method->plan(facts);
    } catch (const ConfigError& e) {
      throw ConfigError(fmt::format("tune.search: {}: {}", planned.name(), e.what()));
    } catch (const PrivacyError& e) {
      throw PrivacyError(fmt::format("tune.search: {}: {}", planned.name(), e.what()));
    }
    for (const QuerySpec& query : planned.plan->queries(1))
      if (query.as<BestOfRuns>())
        throw ConfigError(
            "tune.search: this method is itself the best of secretly many runs, which cannot be repeated once more: "
            "leave out the search, or use another method");
    candidates.push_back(std::move(planned));
  }
  return std::make_unique<TunedPlan>(options_, facts, std::move(candidates));
}

}  // namespace dpmpi
