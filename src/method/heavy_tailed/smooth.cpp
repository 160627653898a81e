// ht-smooth: one pass of clipped steps over the records, in phases of which only the noised averages are released,
// for smooth losses that are no linear model's, whose clipped steps do not contract (Asi, Liu and Tian 2024,
// Algorithms 6 and 7), in a corrected form. The printed tests share a noisy threshold, and when a phase halts tells
// about one record; here every test has noise of its own, paid for by target charging, and a guard bounds what any
// record does. Smoothness is a fact of the loss's code. docs/theory/heavy_tailed_phases.md has the proof.

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/ball.hpp"
#include "method/heavy_tailed/advice.hpp"
#include "method/heavy_tailed/guarded_pass.hpp"
#include "method/heavy_tailed/options.hpp"
#include "method/released_point.hpp"
#include "method/require.hpp"
#include "objective/linear/record_gradients.hpp"
#include "privacy/curves/gaussian_curve.hpp"

namespace dpmpi {
namespace {

struct HtSmoothSettings final : MethodSettings {
  HeavyTailOptions moments;
  SmoothChoices choices;
  double feature_bound = 0;
  std::int64_t phases = 0, batch = 1, seed = 1;
  SmoothMode mode = SmoothMode::either;

  void declare(Options& options) override {
    moments.declare(options);
    options
        .add_words(
            "mode", mode,
            "plain: clipped steps alone; guarded: records are tested and a phase with too many clipped ones halts; "
            "auto: plain if its noise may be small, else guarded",
            {{"auto", SmoothMode::either}, {"plain", SmoothMode::plain}, {"guarded", SmoothMode::guarded}})
        .add("rate", choices.eta, "eta, the step size of a record in phase 1 (0: by the moments)",
             Range::non_negative())
        .add("clip", choices.clip, "C of phase 1, a public constant (0: by the moments)", Range::non_negative())
        .add("hits", choices.hits, "clipped records after which a phase halts (0: by the moments)",
             Range::closed(0, 0x1p30))
        .add("phases", phases, "number of phases at most (0: log2 n - 4)", Range::closed(0, 64))
        .add("batch", batch, "records of a step; 1: one after the other, from rank to rank",
             Range::closed(1, 0x1p30))
        .add("feature_bound", feature_bound, "softmax: norm that records are shrunk to, a public constant",
             Range::non_negative())
        .add("seed", seed, "public seed of the shuffle that cuts the records into phases", Range::at_least(0));
  }
  void validate(std::vector<std::string>& problems) const override {
    moments.validate(problems);
    if (choices.hits > 0 && choices.hits < 1)
      problems.push_back(fmt::format("method.hits = {}: it must be 0 or at least 1", choices.hits));
  }
  std::string describe_releases() const override { return "the model and the noised average of every phase"; }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

class HtSmoothPlan final : public MethodPlan {
 public:
  HtSmoothPlan(const HtSmoothSettings& settings, const PublicFacts& facts) : settings_(settings), facts_(facts) {
    check();
    const double radius = settings.moments.radius;
    HeavyTailProblem problem = settings.moments.problem(facts);
    change_ = problem.change;
    problem.diameter *= 2;  // a ball's
    const OnePassRule rule{.phases = whole(settings.phases), .batch = whole(settings.batch), .reach = radius};
    guard_ = GuardRule::for_target(facts.epsilon > 0 ? facts.epsilon : gdp_epsilon(facts.rho, facts.delta),
                                   facts.delta, change_);
    const auto gradients = gradients_of(*facts.objective);
    beta_ = gradients->smoothness();
    schedule_ = plan_smooth(problem, rule, smooth_steps(*gradients, radius), settings.choices, settings.mode,
                            budget(), guard_);
    steps = schedule_.phases.size();
  }

  // Under replace_one declare() doubles the bound of a part.
  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    const bool sequential = settings_.batch == 1;
    Disjoint rule{.parts = {},
                  .seed = whole(settings_.seed),
                  .places = sequential ? Disjoint::Places::by_block : Disjoint::Places::by_slot};
    double batches = 0;
    for (const SmoothPhase& phase : schedule_.phases) {
      rule.parts.push_back({phase.records, 1, phase.sensitivity / change_});
      batches += real(phase.steps) / real(steps);
    }
    Phases phases{settings_.moments.radius, sequential ? 0 : batches, sequential ? 1.0 : 0};
    if (schedule_.guarded) phases.own_noise = {guard_.output_share, guard_.total_variation()};
    return {{.name = "phase",
             .dim = facts_.objective->dim(),
             .sampling = rule,
             .noise_multiplier =
                 schedule_.guarded ? noise_multiplier / std::sqrt(guard_.output_share) : noise_multiplier,
             .steps = steps,
             .kind = phases}};
  }

  // Of phase i: n records in T batches, h the step of a batch, C: clip, c: hits that halt it, K: at most, N: tests
  // that are paid for, eps: of each, R: scale of their noise, sens and sigma: of the average. slack: how much room
  // the proof's condition has, at least 1.
  Derived report_quantities(const std::vector<Query>& queries) const override {
    Derived all{{"mode", mode()},           {"beta", beta_},
                {"rho", schedule_.rho},     {"eta", schedule_.eta},
                {"bound", schedule_.bound}, {"slack", schedule_.slack()}};
    if (schedule_.guarded) all.emplace_back("t", guard_.failure);
    for (std::size_t i = 0; i < schedule_.phases.size(); ++i) {
      const SmoothPhase& phase = schedule_.phases[i];
      const auto add = [&](const char* symbol, double value) {
        all.emplace_back(fmt::format("{}_{}", symbol, i + 1), value);
      };
      add("n", real(phase.records)), add("T", real(phase.steps)), add("h", phase.step), add("C", phase.clip);
      if (schedule_.guarded) {
        add("c", phase.hits), add("K", real(phase.guard.most_hits)), add("N", real(phase.guard.tests));
        add("eps", phase.guard.test_epsilon), add("R", phase.test_scale);
      }
      add("slack", phase.slack);
      add("sens", queries.at(0).parts.at(i).sensitivity), add("sigma", queries.at(0).parts.at(i).noise_std);
    }
    return all;
  }
  std::string notes(const std::vector<Query>& queries) const override {
    return fmt::format(
        "{} steps for losses of smoothness {:.6g}, step size {:.6g}; the proof needs a slack of 1 and has {:.4g}\n{}",
        mode(), beta_, schedule_.eta, schedule_.slack(), phase_lines(report_quantities(queries)));
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  void check() const {
    const Objective& f = *facts_.objective;
    Problems problems;
    if (!has_record_gradients(f))
      problems.push_back(fmt::format(
          "objective.name: ht-smooth needs a loss that its code makes smooth for every record that could exist: it "
          "must be mean or softmax; {}",
          f.scalar_loss() != nullptr ? "for losses of one linear score take ht-glm"
                                     : "clipped-gd and ht-localize need no smoothness"));
    if (f.linear_softmax() && settings_.feature_bound == 0)
      problems.emplace_back(
          "method.feature_bound = 0: softmax is smooth only for records of bounded norm, it must be above 0, a "
          "public bound on the norm; clipped-gd and ht-localize need none");
    check_no_regulariser(facts_, "ht-smooth", problems);
    check_batch(facts_, settings_.batch, problems);
    refuse(problems);
  }

  std::string mode() const { return schedule_.guarded ? "guarded" : "plain"; }
  std::unique_ptr<RecordGradients> gradients_of(const Objective& objective) const {
    const ObjectiveFacts facts{facts_.data.features, facts_.data.storage, facts_.bias};
    return record_gradients(objective, facts, settings_.feature_bound);
  }
  // Of a phase: a little below the event, whose multiplier calibration rounds.
  double budget() const {
    const double rho = facts_.epsilon > 0 ? guarded_rho(facts_.epsilon, facts_.delta, guard_.total_variation() / 3)
                                          : facts_.rho * facts_.rho / 2;
    return rho * (1 - 1e-5);
  }

  HtSmoothSettings settings_;
  PublicFacts facts_;
  double change_ = 0, beta_ = 0;
  GuardRule guard_;
  SmoothPlan schedule_;
};

class HtSmooth final : public ReleasedPoint {
 public:
  HtSmooth(double radius, const std::vector<SmoothPhase>& phases, std::unique_ptr<RecordGradients> gradients,
           const Query& query)
      : ball_{{}, radius},
        phases_(phases),
        query_(query),
        gradients_(std::move(gradients)),
        pass_(*gradients_, radius) {
    start_at(std::vector<float>(query.dim));
  }

  void step(Curator& curator, std::uint64_t i) override {
    auto average = curator.run_phase(query_, i, [&](PhaseView& phase, std::span<double> result) {
      pass_.run(phase, phases_.at(i), x_, result);
    });
    const auto noisy = curator.release_exact(std::move(average));
    std::ranges::copy(noisy, x_.begin());
    project(ball_, x_);
    publish();
  }

 private:
  Ball ball_;
  std::vector<SmoothPhase> phases_;
  Query query_;
  std::unique_ptr<RecordGradients> gradients_;
  GuardedPass pass_;
};

std::unique_ptr<const MethodPlan> HtSmoothSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<HtSmoothPlan>(*this, facts);
}
std::unique_ptr<Algorithm> HtSmoothPlan::start(Objective& objective, const std::vector<Query>& queries) const {
  if (schedule_.guarded)
    verify(std::get<Zcdp>(queries.at(0).events(0, steps).at(0).mechanism).rho >= schedule_.rho,
           "the event covers what a phase spends");
  return std::make_unique<HtSmooth>(settings_.moments.radius, schedule_.phases, gradients_of(objective),
                                    queries.at(0));
}

const MethodRegistration ht_smooth{
    {"ht-smooth", "one pass of clipped and guarded steps in phases, for smooth losses on heavy tails",
     "Asi, Liu and Tian 2024 (arXiv:2406.02789), Algorithms 6 and 7, corrected", make_method<HtSmoothSettings>}};

}  // namespace
}  // namespace dpmpi
