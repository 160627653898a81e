// ht-smooth: one pass of clipped steps over the records, in phases of which only the noised averages are released,
// for smooth losses that are no linear model's, whose clipped steps do not contract (Asi, Liu and Tian 2024,
// Algorithms 6 and 7), in a corrected form. The printed tests share a noisy threshold, and when a phase halts tells
// about one record; here every test has noise of its own, paid for by target charging, and a guard bounds what any
// record does. Smoothness is a fact of the loss's code. docs/theory/heavy_tailed_phases.md has the proof.

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/ball.hpp"
#include "method/heavy_tailed/guarded_pass.hpp"
#include "method/heavy_tailed/options.hpp"
#include "method/released_point.hpp"
#include "method/require.hpp"
#include "objective/linear/record_gradients.hpp"
#include "privacy/curves/gaussian_curve.hpp"

namespace dpmpi {
namespace {

class HtSmooth final : public Method {
 public:
  void declare(Options& options) override {
    moments_.declare(options);
    options
        .add(
            "mode", mode_,
            "plain: clipped steps alone; guarded: records are tested and a phase with too many clipped ones halts; "
            "auto: plain if its noise may be small, else guarded",
            {"auto", "plain", "guarded"})
        .add("rate", choices_.eta, "eta, the step size of a record in phase 1 (0: by the moments)",
             Range::non_negative())
        .add("clip", choices_.clip, "C of phase 1, a public constant (0: by the moments)", Range::non_negative())
        .add("hits", choices_.hits, "clipped records after which a phase halts (0: by the moments)",
             Range::closed(0, 0x1p30))
        .add("phases", phases_, "number of phases at most (0: log2 n - 4)", Range::closed(0, 64))
        .add("batch", batch_, "records of a step; 1: one after the other, from rank to rank",
             Range::closed(1, 0x1p30))
        .add("feature_bound", feature_bound_, "softmax: norm that records are shrunk to, a public constant",
             Range::non_negative())
        .add("seed", seed_, "public seed of the shuffle that cuts the records into phases", Range::at_least(0));
  }
  void validate(std::vector<std::string>& problems) const override {
    moments_.validate(problems);
    if (choices_.hits > 0 && choices_.hits < 1)
      problems.push_back(fmt::format("method.hits = {}: it must be 0 or at least 1", choices_.hits));
  }

  std::uint64_t steps(const PublicFacts& facts) const override { return plan(facts).phases.size(); }

  // Under replace_one declare() doubles the bound of a part.
  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    plan_ = plan(facts);
    facts_ = gradient_facts(facts);
    const bool sequential = batch_ == 1;
    Disjoint rule{.parts = {},
                  .seed = static_cast<std::uint64_t>(seed_),
                  .places = sequential ? Disjoint::Places::by_block : Disjoint::Places::by_slot};
    double batches = 0;
    for (const SmoothPhase& phase : plan_.phases) {
      rule.parts.push_back({phase.records, 1, phase.sensitivity / moments_.problem(facts).change});
      batches += real(phase.steps) / real(plan_.phases.size());
    }
    Phases phases{moments_.radius(), sequential ? 0 : batches, sequential ? 1.0 : 0};
    const GuardRule guard = guard_rule(facts);
    if (plan_.guarded) phases.own_noise = {guard.output_share, guard.total_variation()};
    return {
        {.name = "phase",
         .dim = facts.objective->dim(),
         .sampling = rule,
         .noise_multiplier = plan_.guarded ? noise_multiplier / std::sqrt(guard.output_share) : noise_multiplier,
         .steps = plan_.phases.size(),
         .kind = phases}};
  }

  // Of phase i: n records in T batches, h the step of a batch, C: clip, c: hits that halt it, K: at most, N: tests
  // that are paid for, eps: of each, R: scale of their noise, sens and sigma: of the average. slack: how much room
  // the proof's condition has, at least 1.
  Derived report_quantities(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    const SmoothPlan p = plan(facts);
    Derived all{{"mode", p.guarded ? "guarded" : "plain"},
                {"beta", gradients(facts)->smoothness()},
                {"rho", p.rho},
                {"eta", p.eta},
                {"bound", p.bound},
                {"slack", p.slack()}};
    if (p.guarded) all.emplace_back("t", guard_rule(facts).failure);
    for (std::size_t i = 0; i < p.phases.size(); ++i) {
      const SmoothPhase& phase = p.phases[i];
      const auto add = [&](const char* symbol, double value) {
        all.emplace_back(fmt::format("{}_{}", symbol, i + 1), value);
      };
      add("n", real(phase.records)), add("T", real(phase.steps)), add("h", phase.step), add("C", phase.clip);
      if (p.guarded) {
        add("c", phase.hits), add("K", real(phase.guard.most_hits)), add("N", real(phase.guard.tests));
        add("eps", phase.guard.test_epsilon), add("R", phase.test_scale);
      }
      add("slack", phase.slack);
      add("sens", queries.at(0).parts.at(i).sensitivity), add("sigma", queries.at(0).parts.at(i).noise_std);
    }
    return all;
  }
  std::string notes(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    const SmoothPlan p = plan(facts);
    return fmt::format(
        "{} steps for losses of smoothness {:.6g}, step size {:.6g}; the proof needs a slack of 1 and has {:.4g}\n{}",
        p.guarded ? "guarded" : "plain", gradients(facts)->smoothness(), p.eta, p.slack(),
        phase_lines(report_quantities(facts, queries)));
  }
  std::string released() const override { return "the model and the noised average of every phase"; }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t steps) override {
    query_ = queries.at(0);
    verify(plan_.phases.size() == steps, "the phases are those of the plan");
    if (plan_.guarded)
      verify(std::get<Zcdp>(query_.events(0, steps).at(0).mechanism).rho >= plan_.rho,
             "the event covers what a phase spends");
    gradients_ = record_gradients(objective, facts_, feature_bound_);
    point_.start(std::vector<float>(query_.dim));
    pass_.emplace(*gradients_, moments_.radius());
  }

  void step(Curator& curator, std::uint64_t i) override {
    auto average = curator.run_phase(query_, i, [&](PhaseView& phase, std::span<double> result) {
      pass_->run(phase, plan_.phases[i], point_.x, result);
    });
    const auto noisy = curator.release_exact(std::move(average));
    std::ranges::copy(noisy, point_.x.begin());
    project({{}, moments_.radius()}, point_.x);
    point_.publish();
  }

  std::span<const float> iterate() const override { return point_.published(); }
  std::span<const std::byte> replicated() const override { return point_.replicated(); }
  void archive(Archive& archive) override { point_.archive(archive); }

 private:
  static ObjectiveFacts gradient_facts(const PublicFacts& facts) {
    return {facts.data.features, facts.data.storage, facts.bias};
  }
  std::unique_ptr<RecordGradients> gradients(const PublicFacts& facts) const {
    return record_gradients(*facts.objective, gradient_facts(facts), feature_bound_);
  }
  void check(const PublicFacts& facts) const {
    const Objective& f = *facts.objective;
    Problems problems;
    if (!has_record_gradients(f))
      problems.push_back(fmt::format(
          "objective.name: ht-smooth needs a loss that its code makes smooth for every record that could exist: it "
          "must be mean or softmax; {}",
          f.scalar_loss() != nullptr ? "for losses of one linear score take ht-glm"
                                     : "clipped-gd and ht-localize need no smoothness"));
    if (f.linear_softmax() && feature_bound_ == 0)
      problems.emplace_back(
          "method.feature_bound = 0: softmax is smooth only for records of bounded norm, it must be above 0, a "
          "public bound on the norm; clipped-gd and ht-localize need none");
    check_no_regulariser(facts, "ht-smooth", problems);
    check_batch(facts, batch_, problems);
    refuse(problems);
  }

  static GuardRule guard_rule(const PublicFacts& facts) {
    return GuardRule::for_target(facts.epsilon > 0 ? facts.epsilon : gdp_epsilon(facts.rho, facts.delta),
                                 facts.delta, facts.adjacency == Adjacency::replace_one ? 2 : 1);
  }
  // Of a phase: a little below the event, whose multiplier calibration rounds.
  static double budget(const PublicFacts& facts, const GuardRule& rule) {
    const double rho = facts.epsilon > 0 ? guarded_rho(facts.epsilon, facts.delta, rule.total_variation() / 3)
                                         : facts.rho * facts.rho / 2;
    return rho * (1 - 1e-5);
  }

  SmoothPlan plan(const PublicFacts& facts) const {
    check(facts);
    HeavyTailProblem problem = moments_.problem(facts);
    problem.diameter *= 2;  // a ball's
    const OnePassRule rule{.phases = static_cast<std::uint64_t>(phases_),
                           .batch = static_cast<std::uint64_t>(batch_),
                           .reach = moments_.radius()};
    const SmoothMode mode = mode_ == "plain"     ? SmoothMode::plain
                            : mode_ == "guarded" ? SmoothMode::guarded
                                                 : SmoothMode::either;
    const GuardRule guard = guard_rule(facts);
    return plan_smooth(problem, rule, smooth_steps(*gradients(facts), moments_.radius()), choices_, mode,
                       budget(facts, guard), guard);
  }

  HeavyTailOptions moments_;
  SmoothChoices choices_;
  double feature_bound_ = 0;
  std::int64_t phases_ = 0, batch_ = 1, seed_ = 1;
  std::string mode_ = "auto";

  mutable SmoothPlan plan_;  ///< what queries() declared last: a function of public facts alone
  mutable ObjectiveFacts facts_;
  Query query_;
  std::unique_ptr<RecordGradients> gradients_;
  ReleasedPoint point_;
  std::optional<GuardedPass> pass_;
};

const MethodRegistration ht_smooth{
    {"ht-smooth", "one pass of clipped and guarded steps in phases, for smooth losses on heavy tails",
     "Asi, Liu and Tian 2024 (arXiv:2406.02789), Algorithms 6 and 7, corrected", make_method<HtSmooth>}};

}  // namespace
}  // namespace dpmpi
