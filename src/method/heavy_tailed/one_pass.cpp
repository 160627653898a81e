// ht-glm: one pass of clamped steps over the records of a linear model, in phases of which only the noised averages
// are released, for gradients with heavy tails (Asi, Liu and Tian 2024, Algorithms 5 and 8), in a corrected form:
//  - the step of a record is capped by its own norm, or proximal: the printed proof needs one smoothness for all
//    records, which linear models with unbounded features do not have;
//  - the noise is that of the exact sensitivity, half of the printed, which includes rounding.
// docs/theory/phases.md has the proof; it takes nothing for granted about the data.

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/numbers/real.hpp"
#include "method/ball.hpp"
#include "method/heavy_tailed/advice.hpp"
#include "method/heavy_tailed/one_pass_plan.hpp"
#include "method/heavy_tailed/options.hpp"
#include "method/method.hpp"
#include "method/released_point.hpp"
#include "method/require.hpp"
#include "objective/linear/steps.hpp"

namespace dpmpi {
namespace {

struct HtGlmSettings final : MethodSettings {
  double radius = 1, smoothness = 1;
  HeavyTail tail{.order = 4, .second = 1, .moment = 2};
  std::int64_t phases = 0, batch = 0, seed = 1;
  std::optional<StepMode> mode;

  void declare(Options& options) override {
    options
        .add("radius", radius, "radius of the ball around 0 that the parameters stay in",
             Range::closed(1e-30, 1e30))
        .add("moment", tail.order,
             "k: how many moments the gradients' norms have (a guess: only the error needs it)",
             Range::closed(1.01, 1e3))
        .add("g2", tail.second, "G_2: root of the mean squared gradient norm (a guess, public)",
             Range::closed(1e-12, 1e12))
        .add("gk", tail.moment, "G_k: the same for the k-th moment (a guess, public)", Range::closed(1e-12, 1e12))
        .add("smoothness", smoothness, "curvature of the mean loss, by which batches are chosen (a guess, public)",
             Range::positive())
        .add("phases", phases, "number of phases at most (0: log2 n - 4)", Range::closed(0, 64))
        .add("batch", batch, "records of a step; 1: one after the other, from rank to rank (0: by smoothness)",
             Range::closed(0, 0x1p40))
        .add_words("mode", mode,
                   "explicit steps need a loss with bounded curvature; auto: explicit where that is so",
                   {{"auto", std::nullopt}, {"explicit", StepMode::explicit_}, {"proximal", StepMode::proximal}})
        .add("seed", seed, "public seed of the shuffle that cuts the records into phases", Range::at_least(0));
  }

  void validate(std::vector<std::string>& problems) const override {
    if (tail.order >= 2 && tail.moment < tail.second)
      problems.push_back(fmt::format("method.gk = {} is below method.g2 = {}: norms grow with the moment",
                                     tail.moment, tail.second));
  }
  std::string describe_releases() const override { return "the model and the noised average of every phase"; }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

class HtGlmPlan final : public MethodPlan {
 public:
  HtGlmPlan(const HtGlmSettings& settings, const PublicFacts& facts)
      : settings_(settings),
        facts_(facts),
        mode_(settings.mode.value_or(has_steps(*facts.objective, StepMode::explicit_) ? StepMode::explicit_
                                                                                      : StepMode::proximal)) {
    check();
    schedule_ = schedule();
    steps = schedule_.phases.size();
  }

  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    Disjoint rule{.parts = {}, .seed = whole(settings_.seed)};
    double batches = 0;
    for (const OnePassPhase& phase : schedule_.phases) {
      rule.parts.push_back({phase.records, 1, phase.sensitivity / change()});
      batches += real(phase.steps);
    }
    const bool sequential = schedule_.phases.front().batch == 1;
    if (sequential) rule.places = Disjoint::Places::by_block;
    return {{.name = "phase",
             .dim = facts_.objective->dim(),
             .sampling = rule,
             .noise_multiplier = noise_multiplier,
             .steps = steps,
             .kind = Phases{settings_.radius, sequential ? 0 : batches / real(steps), sequential ? 1.0 : 0}}};
  }

  // Lists with one entry for each phase: n_i records in T_i batches of B_i, h_i = B_i eta_i, C_i: clip, sens_i: of
  // the average as it is computed, sigma_i: its noise.
  Derived report_quantities(const std::vector<Query>& queries) const override {
    const std::vector<OnePassPhase>& phases = schedule_.phases;
    const std::vector<Query>& parts = queries.at(0).parts;
    const auto list = [&](auto value) {
      std::vector<std::string> text;
      for (std::size_t i = 0; i < phases.size(); ++i) text.push_back(fmt::format("{:.8g}", value(i)));
      return fmt::format("{}", fmt::join(text, ", "));
    };
    return {{"mode", mode_ == StepMode::explicit_ ? "explicit" : "proximal"},
            {"mu", 1 / queries.at(0).noise_multiplier},
            {"eta", schedule_.eta},
            {"C", schedule_.clip},
            {"I", real(phases.size())},
            {"n_i", list([&](std::size_t i) { return real(phases[i].records); })},
            {"B_i", list([&](std::size_t i) { return real(phases[i].batch); })},
            {"T_i", list([&](std::size_t i) { return real(phases[i].steps); })},
            {"eta_i", list([&](std::size_t i) { return phases[i].step / real(phases[i].batch); })},
            {"h_i", list([&](std::size_t i) { return phases[i].step; })},
            {"C_i", list([&](std::size_t i) { return phases[i].clip; })},
            {"sens_i", list([&](std::size_t i) { return parts[i].sensitivity; })},
            {"sigma_i", list([&](std::size_t i) { return parts[i].noise_std; })},
            {"bound", schedule_.bound}};
  }

  std::string notes(const std::vector<Query>& queries) const override {
    return pass_advice(facts_, 1 / queries.at(0).noise_multiplier);
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  double change() const { return facts_.adjacency == Adjacency::replace_one ? 2 : 1; }

  void check() const {
    Problems problems;
    check_scalar_link(facts_, "ht-glm", problems);
    check_no_regulariser(facts_, "ht-glm", problems);
    check_batch(facts_, settings_.batch, problems);
    if (problems.empty() && !has_steps(*facts_.objective, mode_))
      problems.emplace_back(
          "method.mode = explicit needs a loss whose second derivative is bounded: it must be auto or proximal");
    refuse(problems);
  }

  OnePassPlan schedule() const {
    const Objective& f = *facts_.objective;
    const double radius = settings_.radius, smoothness = settings_.smoothness;
    const HeavyTail& tail = settings_.tail;
    OnePassRule rule{
        .phases = whole(settings_.phases), .step_error = clamped_step_error(f, mode_, radius), .reach = radius};
    const HeavyTailProblem problem{.records = real(facts_.data.records),
                                   .dim = real(f.dim()),
                                   .diameter = 2 * radius,
                                   .mu = privacy_target(facts_),
                                   .change = change(),
                                   .tail = {tail.order, tail.second, tail.second, tail.moment}};
    if (settings_.batch > 0) rule.batch = whole(settings_.batch);
    OnePassPlan plan = plan_one_pass(problem, rule);
    if (settings_.batch > 0) return plan;
    // Larger batches would leave late phases without steps.
    const double thumb = 0.35 * std::sqrt(problem.records) * tail.second / (problem.diameter * smoothness);
    rule.batch = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::min(thumb, problem.records / 8)), 1,
                                           largest_batch(plan.eta, smoothness));
    return plan_one_pass(problem, rule);
  }

  HtGlmSettings settings_;
  PublicFacts facts_;
  StepMode mode_;
  OnePassPlan schedule_;
};

class HtGlm final : public ReleasedPoint {
 public:
  HtGlm(double radius, StepMode mode, const std::vector<OnePassPhase>& phases, Objective& objective,
        const Query& query)
      : ball_{{}, radius}, mode_(mode), phases_(phases), query_(query), steps_(objective), state_(2 * query.dim) {
    start_at(std::vector<float>(query.dim));
  }

  // A phase: from x, the average of the points before each step. What is released is that average with noise.
  void step(Curator& curator, std::uint64_t i) override {
    const OnePassPhase& p = phases_.at(i);
    auto average = curator.run_phase(query_, i, [&](PhaseView& phase, std::span<double> result) {
      std::ranges::copy(x_, state_.begin());
      std::ranges::fill(sum(), 0.0);
      p.batch == 1 ? go_record_by_record(phase, p) : go_in_batches(phase, p);
      for (std::size_t j = 0; j < result.size(); ++j) result[j] = sum()[j] / real(p.steps);
    });
    std::ranges::copy(curator.release_exact(std::move(average)), x_.begin());
    project(ball_, x_);
    publish();
  }

 private:
  std::span<double> point() { return std::span(state_).first(query_.dim); }
  std::span<double> sum() { return std::span(state_).last(query_.dim); }

  // x <- Pi(x - (sum of c a over the batch) / B), B a constant.
  void go_in_batches(PhaseView& phase, const OnePassPhase& p) {
    for (std::uint64_t t = 0; t < p.steps; ++t) {
      for (std::size_t j = 0; j < query_.dim; ++j) sum()[j] += point()[j];
      const auto total =
          phase.sum(t * p.batch, (t + 1) * p.batch, {p.step * p.clip}, steps_.steps(point(), {mode_, p.step}));
      for (std::size_t j = 0; j < query_.dim; ++j) point()[j] -= total[j] / real(p.batch);
      project(ball_, point());
    }
  }

  // The same for B = 1, to the last bit.
  void go_record_by_record(PhaseView& phase, const OnePassPhase& p) {
    const L2Bound cap{p.step * p.clip};
    const Lattice lattice = lattice_of_batch(cap.clip, 1);
    phase.sequential_pass(state_, [&](const Rows& record, std::span<double> state) {
      const auto x = state.first(query_.dim), total = state.last(query_.dim);
      for (std::size_t j = 0; j < x.size(); ++j) total[j] += x[j];
      steps_.walk(record, {mode_, p.step}, cap, lattice, x);
      project(ball_, x);
    });
  }

  Ball ball_;
  StepMode mode_;
  std::vector<OnePassPhase> phases_;
  Query query_;
  ClampedSteps steps_;
  std::vector<double> state_;  ///< within a phase: its point and the sum of its points, which stay there
};

std::unique_ptr<const MethodPlan> HtGlmSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<HtGlmPlan>(*this, facts);
}
std::unique_ptr<Algorithm> HtGlmPlan::start(Objective& objective, const std::vector<Query>& queries) const {
  return std::make_unique<HtGlm>(settings_.radius, mode_, schedule_.phases, objective, queries.at(0));
}

const MethodRegistration ht_glm{
    {"ht-glm", "one pass of clamped steps in phases, for linear models on heavy-tailed data",
     "Asi, Liu and Tian 2024 (arXiv:2406.02789), Algorithms 5 and 8, corrected", make_method<HtGlmSettings>}};

}  // namespace
}  // namespace dpmpi
