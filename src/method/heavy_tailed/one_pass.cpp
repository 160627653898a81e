// ht-glm: one pass of clamped steps over the records of a linear model, in phases of which only the noised averages
// are released, for gradients with heavy tails (Asi, Liu and Tian 2024, Algorithms 5 and 8), in a corrected form:
//  - the step of a record is capped by its own norm, or proximal: the printed proof needs one smoothness for all
//    records, which linear models with unbounded features do not have;
//  - the noise is that of the exact sensitivity, half of the printed, which includes rounding.
// docs/theory/phases.md has the proof; it takes nothing for granted about the data.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/ball.hpp"
#include "method/heavy_tailed/advice.hpp"
#include "method/heavy_tailed/one_pass_plan.hpp"
#include "method/heavy_tailed/options.hpp"
#include "method/method.hpp"
#include "method/released_point.hpp"
#include "method/require.hpp"
#include "objective/linear/steps.hpp"
#include "objective/math/losses.hpp"

namespace dpmpi {
namespace {

class HtGlm final : public Method {
 public:
  void declare(Options& options) override {
    options
        .add("radius", radius_, "radius of the ball around 0 that the parameters stay in",
             Range::closed(1e-30, 1e30))
        .add("moment", tail_.order,
             "k: how many moments the gradients' norms have (a guess: only the error needs it)",
             Range::closed(1.01, 1e3))
        .add("g2", tail_.second, "G_2: root of the mean squared gradient norm (a guess, public)",
             Range::closed(1e-12, 1e12))
        .add("gk", tail_.moment, "G_k: the same for the k-th moment (a guess, public)", Range::closed(1e-12, 1e12))
        .add("smoothness", smoothness_, "curvature of the mean loss, by which batches are chosen (a guess, public)",
             Range::positive())
        .add("phases", phases_, "number of phases at most (0: log2 n - 4)", Range::closed(0, 64))
        .add("batch", batch_, "records of a step; 1: one after the other, from rank to rank (0: by smoothness)",
             Range::closed(0, 0x1p40))
        .add("mode", mode_, "explicit steps need a loss with bounded curvature; auto: explicit where that is so",
             {"auto", "explicit", "proximal"})
        .add("seed", seed_, "public seed of the shuffle that cuts the records into phases", Range::at_least(0));
  }

  void validate(std::vector<std::string>& problems) const override {
    if (tail_.order >= 2 && tail_.moment < tail_.second)
      problems.push_back(fmt::format("method.gk = {} is below method.g2 = {}: norms grow with the moment",
                                     tail_.moment, tail_.second));
  }

  std::uint64_t steps(const PublicFacts& facts) const override { return plan(facts).phases.size(); }

  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    plan_ = plan(facts);
    Disjoint rule{.parts = {}, .seed = static_cast<std::uint64_t>(seed_)};
    double batches = 0;
    for (const OnePassPhase& phase : plan_.phases) {
      rule.parts.push_back({phase.records, 1, phase.sensitivity / change(facts.adjacency)});
      batches += real(phase.steps);
    }
    const bool sequential = plan_.phases.front().batch == 1;
    if (sequential) rule.places = Disjoint::Places::by_block;
    return {{.name = "phase",
             .dim = facts.objective->dim(),
             .sampling = rule,
             .noise_multiplier = noise_multiplier,
             .steps = plan_.phases.size(),
             .kind = Phases{radius_, sequential ? 0 : batches / real(plan_.phases.size()), sequential ? 1.0 : 0}}};
  }

  // Lists with one entry for each phase: n_i records in T_i batches of B_i, h_i = B_i eta_i, C_i: clip, sens_i: of
  // the average as it is computed, sigma_i: its noise.
  Derived report_quantities(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    const OnePassPlan p = plan(facts);
    const std::vector<Query>& parts = queries.at(0).parts;
    const auto list = [&](auto value) {
      std::vector<std::string> text;
      for (std::size_t i = 0; i < p.phases.size(); ++i) text.push_back(fmt::format("{:.8g}", value(i)));
      return fmt::format("{}", fmt::join(text, ", "));
    };
    return {{"mode", steps_for(*facts.objective) == StepMode::explicit_ ? "explicit" : "proximal"},
            {"mu", 1 / queries.at(0).noise_multiplier},
            {"eta", p.eta},
            {"C", p.clip},
            {"I", real(p.phases.size())},
            {"n_i", list([&](std::size_t i) { return real(p.phases[i].records); })},
            {"B_i", list([&](std::size_t i) { return real(p.phases[i].batch); })},
            {"T_i", list([&](std::size_t i) { return real(p.phases[i].steps); })},
            {"eta_i", list([&](std::size_t i) { return p.phases[i].step / real(p.phases[i].batch); })},
            {"h_i", list([&](std::size_t i) { return p.phases[i].step; })},
            {"C_i", list([&](std::size_t i) { return p.phases[i].clip; })},
            {"sens_i", list([&](std::size_t i) { return parts[i].sensitivity; })},
            {"sigma_i", list([&](std::size_t i) { return parts[i].noise_std; })},
            {"bound", p.bound}};
  }

  std::string notes(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    return pass_advice(facts, 1 / queries.at(0).noise_multiplier);
  }
  std::string released() const override { return "the model and the noised average of every phase"; }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t steps) override {
    query_ = queries.at(0);
    const auto planned = [&](const Disjoint::Part& part, const OnePassPhase& phase) {
      return part.size == phase.records && part.clip == phase.sensitivity / change(query_.adjacency);
    };
    verify(plan_.phases.size() == steps &&
               std::ranges::equal(std::get<Disjoint>(query_.sampling).parts, plan_.phases, planned),
           "the phases are those of the plan");
    steps_ = std::make_unique<ClampedSteps>(objective);
    mode_of_run_ = steps_for(objective);
    point_.start(std::vector<float>(query_.dim));
    state_.assign(2 * query_.dim, 0.0);
  }

  // A phase: from x, the average of the points before each step. What is released is that average with noise.
  void step(Curator& curator, std::uint64_t i) override {
    const OnePassPhase& p = plan_.phases[i];
    auto average = curator.run_phase(query_, i, [&](PhaseView& phase, std::span<double> result) {
      std::ranges::copy(point_.x, state_.begin());
      std::ranges::fill(sum(), 0.0);
      p.batch == 1 ? go_record_by_record(phase, p) : go_in_batches(phase, p);
      for (std::size_t j = 0; j < result.size(); ++j) result[j] = sum()[j] / real(p.steps);
    });
    std::ranges::copy(curator.release_exact(std::move(average)), point_.x.begin());
    project(ball(), point_.x);
    point_.publish();
  }

  std::span<const float> iterate() const override { return point_.published(); }
  std::span<const std::byte> replicated() const override { return point_.replicated(); }
  void archive(Archive& archive) override { point_.archive(archive); }

 private:
  Ball ball() const { return {{}, radius_}; }
  std::span<double> point() { return std::span(state_).first(query_.dim); }
  std::span<double> sum() { return std::span(state_).last(query_.dim); }
  static double change(Adjacency adjacency) { return adjacency == Adjacency::replace_one ? 2 : 1; }

  // x <- Pi(x - (sum of c a over the batch) / B), B a constant.
  void go_in_batches(PhaseView& phase, const OnePassPhase& p) {
    for (std::uint64_t t = 0; t < p.steps; ++t) {
      for (std::size_t j = 0; j < query_.dim; ++j) sum()[j] += point()[j];
      const auto total = phase.sum(t * p.batch, (t + 1) * p.batch, {p.step * p.clip},
                                   steps_->steps(point(), {mode_of_run_, p.step}));
      for (std::size_t j = 0; j < query_.dim; ++j) point()[j] -= total[j] / real(p.batch);
      project(ball(), point());
    }
  }

  // The same for B = 1, to the last bit.
  void go_record_by_record(PhaseView& phase, const OnePassPhase& p) {
    const L2Bound cap{p.step * p.clip};
    const Lattice lattice = lattice_of_batch(cap.clip, 1);
    phase.sequential_pass(state_, [&](const Rows& record, std::span<double> state) {
      const auto x = state.first(query_.dim), total = state.last(query_.dim);
      for (std::size_t j = 0; j < x.size(); ++j) total[j] += x[j];
      steps_->walk(record, {mode_of_run_, p.step}, cap, lattice, x);
      project(ball(), x);
    });
  }

  StepMode steps_for(const Objective& objective) const {
    if (mode_ == "proximal") return StepMode::proximal;
    if (mode_ == "explicit" || has_steps(objective, StepMode::explicit_)) return StepMode::explicit_;
    return StepMode::proximal;
  }

  void check(const PublicFacts& facts) const {
    Problems problems;
    check_scalar_link(facts, "ht-glm", problems);
    check_no_regulariser(facts, "ht-glm", problems);
    check_batch(facts, batch_, problems);
    if (problems.empty() && !has_steps(*facts.objective, steps_for(*facts.objective)))
      problems.push_back(fmt::format(
          "method.mode = {} needs a loss whose second derivative is bounded: it must be auto or proximal", mode_));
    refuse(problems);
  }

  OnePassPlan plan(const PublicFacts& facts) const {
    check(facts);
    const Objective& f = *facts.objective;
    const StepMode mode = steps_for(f);
    OnePassRule rule{.phases = static_cast<std::uint64_t>(phases_),
                     .step_error = clamped_step_error(f, mode, radius_),
                     .reach = radius_};
    const HeavyTailProblem problem{.records = real(facts.data.records),
                                   .dim = static_cast<double>(f.dim()),
                                   .diameter = 2 * radius_,
                                   .mu = privacy_target(facts),
                                   .change = change(facts.adjacency),
                                   .tail = {tail_.order, tail_.second, tail_.second, tail_.moment}};
    if (batch_ > 0) rule.batch = static_cast<std::uint64_t>(batch_);
    OnePassPlan plan = plan_one_pass(problem, rule);
    if (batch_ > 0) return plan;
    // Larger batches would leave late phases without steps.
    const double thumb = 0.35 * std::sqrt(problem.records) * tail_.second / (problem.diameter * smoothness_);
    rule.batch = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::min(thumb, problem.records / 8)), 1,
                                           largest_batch(plan.eta, smoothness_));
    return plan_one_pass(problem, rule);
  }

  double radius_ = 1, smoothness_ = 1;
  HeavyTail tail_{.order = 4, .second = 1, .moment = 2};
  std::int64_t phases_ = 0, batch_ = 0, seed_ = 1;
  std::string mode_ = "auto";

  mutable OnePassPlan plan_;  ///< what queries() declared last: a function of public facts alone
  Query query_;
  std::unique_ptr<ClampedSteps> steps_;
  StepMode mode_of_run_ = StepMode::proximal;
  ReleasedPoint point_;
  std::vector<double> state_;  ///< within a phase: its point and the sum of its points, which stay there
};

const MethodRegistration ht_glm{
    {"ht-glm", "one pass of clamped steps in phases, for linear models on heavy-tailed data",
     "Asi, Liu and Tian 2024 (arXiv:2406.02789), Algorithms 5 and 8, corrected", make_method<HtGlm>}};

}  // namespace
}  // namespace dpmpi
