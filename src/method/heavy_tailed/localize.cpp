// ht-localize: population localization (Asi, Liu and Tian 2024, Algorithms 2 and 3). Phases of growing
// regularisation around the last phase's point, each solved by clipped descent (Algorithm 1) on folds of fresh
// records, of which the one nearest to a majority is taken; for strongly convex risks, rounds of such phases within
// shrinking balls (Corollary 3). Corrected: regularisers and shares by the repaired Proposition 2, aggregation
// without a radius, a bound for any number of steps. What is wrong in the paper: docs/theory/heavy_tailed_plans.md.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "method/heavy_tailed/advice.hpp"
#include "method/heavy_tailed/aggregate.hpp"
#include "method/heavy_tailed/localization.hpp"
#include "method/heavy_tailed/options.hpp"
#include "method/heavy_tailed/proximal_descent.hpp"
#include "method/heavy_tailed/strongly_convex_rounds.hpp"
#include "method/require.hpp"
#include "objective/minimax/saddle.hpp"

namespace dpmpi {
namespace {

/// A phase of any round.
struct FoldedPhase : LocalizedPhase {
  double reach = 0;           ///< radius of the ball around its start that its folds stay in
  double domain = 0;          ///< likewise around the start of its round
  bool begins_round = false;  ///< these are one
};
struct FoldedSchedule {
  std::uint64_t folds = 1;
  std::vector<FoldedPhase> phases;
  double bound = 0;  ///< of the excess risk; 0: none
};

constexpr ErmFailures of_one_fold{}, of_many_folds{0.045, 0.045, 0.01};  // folds succeed with probability 0.9
constexpr std::uint64_t most_rounds = 8;

class HtLocalize final : public Method {
 public:
  void declare(Options& options) override {
    moments_.declare(options);
    options.add("folds", folds_, "folds J of a phase (0: as many as fail_prob asks for)", Range::at_least(0))
        .add("fail_prob", fail_prob_, "chance that the bound on the error may fail; with folds = 0",
             Range::open(0, 1))
        .add("phases", phases_, "phases (0: the number with the best bound); fewer where folds would be empty",
             Range::at_least(0))
        .add("steps", steps_, "steps T of a fold (0: max(64, m^2 rho / d), m its records)", Range::at_least(0))
        .add("clip", clip_, "clip in every phase, a public constant (0: by the moments)", Range::non_negative())
        .add("rate", rate_,
             "largest step size, e.g. 1 over the curvature of the mean loss (0: 4 / (lambda (t + 1)) alone)",
             Range::non_negative())
        .add("lambda_scale", lambda_scale_, "factor on the planned regularisers", Range::closed(1e-12, 1e12))
        .add("strong_convexity", strong_convexity_,
             "m of an m-strongly convex risk, e.g. objective.l2: rounds in shrinking balls (0: one round)",
             Range::closed(0, 1e12))
        .add("seed", seed_, "public seed of the start point and of the cut into folds", Range::at_least(0));
  }

  void validate(std::vector<std::string>& problems) const override { moments_.validate(problems); }

  std::uint64_t steps(const PublicFacts& facts) const override { return folds_of(schedule(facts)).uses(); }

  // A record is in one fold, and every fold has the whole budget: all releases are one Gaussian event.
  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    schedule_ = schedule(facts);
    const Disjoint folds = folds_of(schedule_);
    return {{.name = "gradient",
             .dim = facts.objective->dim(),
             .sampling = folds,
             .bound = {folds.parts[0].clip},
             .slack = facts.objective->gradient_slack(),
             .noise_multiplier = noise_multiplier,
             .steps = folds.uses()}};
  }

  // J: folds, bound: of the excess risk; of phase i: m the records of a fold, C clip, T steps, sigma the noise of a
  // mean gradient, R and D the radii of the balls around its start and its round's.
  Derived report_quantities(const PublicFacts&, const std::vector<Query>& queries) const override {
    Derived all{{"J", static_cast<double>(schedule_.folds)}};
    if (schedule_.bound > 0) all.emplace_back("bound", schedule_.bound);
    for (std::size_t i = 0; i < schedule_.phases.size(); ++i) {
      const FoldedPhase& phase = schedule_.phases[i];
      const Query& fold = queries.at(0).parts.at(i * schedule_.folds);
      const auto m = static_cast<double>(phase.fold_records);
      const auto add = [&](const char* symbol, double value) {
        all.emplace_back(fmt::format("{}_{}", symbol, i + 1), value);
      };
      add("m", m), add("lambda", phase.lambda), add("C", fold.bound.clip),
          add("T", static_cast<double>(fold.steps));
      add("sigma", fold.noise_std / m), add("R", phase.reach), add("D", phase.domain);
    }
    return all;
  }

  std::string notes(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    return pass_advice(facts, 1 / queries.at(0).noise_multiplier) + phase_lines(report_quantities(facts, queries)) +
           (schedule_.folds > 1
                ? "the bound holds if a majority of the folds of every phase succeed\n"
                : "one fold a phase: the error may exceed its bound with a constant probability; folds = 0 "
                  "takes as many as fail_prob needs\n");
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t) override {
    objective_ = &objective;
    gradient_ = queries.at(0);
    x_.assign(objective.dim(), 0.0f);
    objective.initialise(PublicStream(static_cast<std::uint64_t>(seed_), "start point"), x_);
    points_.clear();
    next_ = 0;
  }

  void step(Curator& curator, std::uint64_t t) override {
    const Disjoint& folds = std::get<Disjoint>(gradient_.sampling);
    const std::size_t fold = folds.part_of(t);
    const FoldedPhase& phase = schedule_.phases[fold / schedule_.folds];
    const std::uint64_t s = t - folds.first_release(fold);
    if (s == 0) begin_fold(fold);
    const Batch batch = curator.draw(gradient_, t);
    const auto noisy =
        curator.release(curator.sum(gradient_, batch, clipped_gradients(*objective_, descent_.point())));
    descent_.update(*objective_, noisy, 1 / static_cast<double>(phase.fold_records), s);
    next_ = t + 1;
    if (s + 1 == folds.parts[fold].uses) end_fold(fold);
  }

  /// x_i after phase i; x_0 before.
  std::span<const float> iterate() const override { return x_; }
  std::span<const std::byte> replicated() const override { return std::as_bytes(descent_.point()); }

  void archive(Archive& archive) override {
    archive.field("release", next_);
    archive.field("x", x_);
    archive.field("round", origin_);
    archive.field("points", points_);
    const Disjoint& folds = std::get<Disjoint>(gradient_.sampling);
    if (archive.reading() && next_ < folds.uses()) begin_fold(folds.part_of(next_));
    descent_.archive(archive);
  }

 private:
  std::uint64_t folds_for_guarantee(const HeavyTailProblem& problem) const {
    if (folds_ > 0) return static_cast<std::uint64_t>(folds_);
    const double all_phases = static_cast<double>(most_phases(problem)) * (strong_convexity_ > 0 ? most_rounds : 1);
    return folds_for(1 - of_many_folds.total(), fail_prob_ / all_phases);
  }

  std::uint64_t most_phases(const HeavyTailProblem& problem) const {
    return phases_ > 0 ? static_cast<std::uint64_t>(phases_) : localization_phases({}, problem.records);
  }

  FoldedSchedule schedule(const PublicFacts& facts) const {
    Problems problems;
    check_gradients(*facts.objective, "ht-localize", problems);
    refuse(problems);
    const HeavyTailProblem problem = moments_.problem(facts);
    FoldedSchedule all;
    const std::uint64_t J = folds_for_guarantee(problem);
    const auto round = [&](double records, double radius) {
      HeavyTailProblem part = problem;
      part.records = records, part.diameter = radius;
      return plan_localized_erm(part, J, most_phases(part), J > 1 ? of_many_folds : of_one_fold,
                                static_cast<std::uint64_t>(steps_), static_cast<std::uint64_t>(phases_));
    };
    if (strong_convexity_ == 0) {
      append(all, round(problem.records, problem.diameter), problem.diameter, problem.tail.second);
    } else {
      const double radius = std::min(problem.diameter, 2 * problem.tail.first / strong_convexity_);
      const StrongSchedule rounds =
          plan_strong(facts.data.records, radius, strong_convexity_, [&](double m) { return round(m, 1).bound; });
      for (const StrongPhase& r : rounds.phases)
        append(all, round(static_cast<double>(r.records), r.radius), r.radius, problem.tail.second);
      all.bound = rounds.excess;
    }
    if (clip_ > 0 || lambda_scale_ != 1 || rate_ > 0) all.bound = 0;  // not of these settings
    return all;
  }

  // The minimiser of a phase is within G_1 / lambda of its start; the plan's bound has G_2 (the paper's 2 G_1).
  void append(FoldedSchedule& all, const LocalizedPlan& round, double domain, double most_gradient) const {
    all.folds = round.folds, all.bound = round.bound;
    for (std::size_t i = 0; i < round.phases.size(); ++i) {
      FoldedPhase phase{round.phases[i]};
      phase.lambda *= lambda_scale_;
      if (clip_ > 0) phase.solver.settings.clip = clip_;
      phase.reach = most_gradient / phase.lambda, phase.domain = domain, phase.begins_round = i == 0;
      all.phases.push_back(phase);
    }
  }

  Disjoint folds_of(const FoldedSchedule& schedule) const {
    Disjoint rule;
    rule.seed = static_cast<std::uint64_t>(seed_);
    for (const FoldedPhase& phase : schedule.phases)
      rule.parts.insert(rule.parts.end(), schedule.folds,
                        {phase.fold_records, phase.solver.settings.steps, phase.solver.settings.clip});
    return rule;
  }

  void begin_fold(std::size_t fold) {
    const FoldedPhase& phase = schedule_.phases[fold / schedule_.folds];
    if (phase.begins_round) origin_.assign(x_.begin(), x_.end());
    descent_.set(phase.lambda, phase.reach, rate_);
    descent_.start(x_, phase.solver.settings.steps, {origin_, phase.domain});
  }

  void end_fold(std::size_t fold) {
    const auto point = descent_.published();
    points_.insert(points_.end(), point.begin(), point.end());
    if ((fold + 1) % schedule_.folds != 0) return;
    const std::size_t best = aggregate(points_, x_.size()).index;
    std::copy_n(points_.begin() + static_cast<std::ptrdiff_t>(best * x_.size()), x_.size(), x_.begin());
    points_.clear();
  }

  std::int64_t folds_ = 1, phases_ = 0, steps_ = 64, seed_ = 1;
  double fail_prob_ = 0.05, clip_ = 0, lambda_scale_ = 1, strong_convexity_ = 0, rate_ = 0;
  HeavyTailOptions moments_;
  mutable FoldedSchedule schedule_;  // of the last call of queries()

  Objective* objective_ = nullptr;
  Query gradient_;
  ProximalDescent descent_;
  std::uint64_t next_ = 0;      // release
  std::vector<double> points_;  // of the present phase's folds that are done
  std::vector<double> origin_;  // start of the round
  AlignedVector<float> x_;
};

const MethodRegistration ht_localize{
    {"ht-localize", "phases of clipped descent on fresh records, for heavy-tailed data",
     "Asi, Liu and Tian 2024 (arXiv:2406.02789), Algorithms 1 to 3, corrected", make_method<HtLocalize>}};

}  // namespace
}  // namespace dpmpi
