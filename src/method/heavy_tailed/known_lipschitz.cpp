// ht-known-lipschitz: convex losses of linear models whose Lipschitz constants are made at most C by clamping their
// slopes, and phases of regularised risk minimisation with noise on the results (Asi, Liu and Tian 2024, Algorithm
// 4 and Theorem 2, with a solver of ours). Corrected: C is raised where a strongly convex regulariser asks for it.
//
// A phase minimises F(x) = mean of f_s(x) + lambda/2 |x - x_(i-1)|^2, f_s the Moreau envelope of the clamped loss:
// convex, C-Lipschitz and 1/h-smooth for every record that can exist, kinks or not. F is lambda-strongly convex, so
// another record moves its minimiser by at most 2 C / (lambda n); a point where |grad F| <= tau is within tau /
// lambda of it. No point is handed over without that certificate, rounding included, however long it takes.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "method/ball.hpp"
#include "method/heavy_tailed/advice.hpp"
#include "method/heavy_tailed/certified_minimum.hpp"
#include "method/heavy_tailed/options.hpp"
#include "method/heavy_tailed/output.hpp"
#include "method/heavy_tailed/strongly_convex_rounds.hpp"
#include "method/released_point.hpp"
#include "method/require.hpp"
#include "objective/linear/steps.hpp"

namespace dpmpi {
namespace {

constexpr double passes = 100;  // over a phase's records, a guess for plans: how many there were is secret

/// A phase of any round.
struct ClampedPhase : OutputPhase {
  double clip = 1;       ///< C
  double smoothing = 0;  ///< h
};
struct ClampedSchedule {
  std::vector<ClampedPhase> phases;
  double bound = 0;
};

class HtKnownLipschitz final : public Method {
 public:
  void declare(Options& options) override {
    moments_.declare(options);
    options
        .add("clip", clip_,
             "Lipschitz constant C that losses are clamped to, a public constant (0: by the moments)",
             Range::closed(0, 1e20))
        .add("phases", phases_,
             "phases; the last one takes all records that are left (at most log2 of the records)",
             Range::closed(1, 40))
        .add("growth", shape_.growth, "factor by which the regulariser grows from phase to phase",
             Range{4, 1e6, true, false})
        .add("lambda_scale", shape_.lambda_scale, "factor on the planned regularisers", Range::closed(1e-12, 1e12))
        .add("certificate", shape_.certificate, "largest gradient norm of a phase's result, in units of C / n_i",
             Range::open(0, 1))
        .add("smoothing", smoothing_, "error of Moreau envelopes, as a share of the bound of the excess risk",
             Range::open(0, 1))
        .add("strong_convexity", strong_convexity_,
             "m of an m-strongly convex risk, e.g. objective.l2: rounds on twice the records each (0: one round)",
             Range::closed(0, 1e12))
        .add("seed", seed_, "public seed of the start point and of the cut into phases", Range::at_least(0));
  }
  void validate(std::vector<std::string>& problems) const override { moments_.validate(problems); }

  std::uint64_t steps(const PublicFacts& facts) const override { return schedule(facts).phases.size(); }

  // A record is in one phase: all of them are one Gaussian event. Under replace_one declare() doubles the bound of
  // a part.
  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    Problems problems;
    check_scalar_link(facts, "ht-known-lipschitz", problems);
    refuse(problems);
    schedule_ = schedule(facts);
    Disjoint parts;
    parts.seed = static_cast<std::uint64_t>(seed_);
    double range = 0;
    const double change = moments_.problem(facts).change;
    for (const ClampedPhase& phase : schedule_.phases) {
      check_certificate(phase, *facts.objective);
      parts.parts.push_back({phase.records, 1, phase.sensitivity / change});
      range = std::max(range, reach(phase, facts.objective->l2));
    }
    return {{.name = "minimiser",
             .dim = facts.objective->dim(),
             .sampling = parts,
             .noise_multiplier = noise_multiplier,
             .steps = parts.parts.size(),
             .kind = Phases{.range = range, .sums = passes},
             .effort = passes}};
  }

  // Of phase i: n records, lambda, C, tau the tolerance, h the smoothing, sensitivity, sigma the noise.
  Derived report_quantities(const PublicFacts&, const std::vector<Query>& queries) const override {
    Derived all{{"bound", schedule_.bound}};
    for (std::size_t i = 0; i < schedule_.phases.size(); ++i) {
      const ClampedPhase& phase = schedule_.phases[i];
      const auto add = [&](const char* symbol, double value) {
        all.emplace_back(fmt::format("{}_{}", symbol, i + 1), value);
      };
      add("n", static_cast<double>(phase.records)), add("lambda", phase.lambda), add("C", phase.clip);
      add("tau", phase.tolerance), add("h", phase.smoothing);
      add("sens", queries.at(0).parts.at(i).sensitivity), add("sigma", queries.at(0).parts.at(i).noise_std);
    }
    return all;
  }

  std::string notes(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    return pass_advice(facts, 1 / queries.at(0).noise_multiplier) +
           "two phases, lambda_scale = 0.3 to 1 and a public clip below that of the moments did best in experiments\n" +
           phase_lines(report_quantities(facts, queries));
  }

  std::string released() const override { return "the model and the noised point of every phase"; }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t) override {
    objective_ = &objective;
    query_ = queries.at(0);
    steps_ = std::make_unique<ClampedSteps>(objective);
    solver_ = std::make_unique<CertifiedMinimum>(objective.dim());
    std::vector<float> first(objective.dim()), decay(objective.dim()), ones(objective.dim(), 1.0f);
    objective.initialise(PublicStream(static_cast<std::uint64_t>(seed_), "start point"), first);
    point_.start(first);
    origin_ = at_ = point_.x;
    objective.add_regularizer_gradient(ones, decay);
    decay_.assign(decay.begin(), decay.end());
  }

  void step(Curator& curator, std::uint64_t t) override {
    const ClampedPhase& phase = schedule_.phases.at(t);
    auto minimiser = curator.run_phase(query_, t, [&](PhaseView& part, std::span<double> z) {
      const auto gradient = [&](std::span<const double> at, std::span<double> g) {
        return gradient_of(part, phase, at, g);
      };
      solver_->run(gradient, 1 / phase.smoothing + phase.lambda + objective_->l2, phase.tolerance, z);
    });
    const auto noisy = curator.release_exact(std::move(minimiser));
    for (std::size_t j = 0; j < noisy.size(); ++j) point_.x[j] += noisy[j];
    project({origin_, moments_.radius()}, point_.x);
    point_.publish();
  }

  std::span<const float> iterate() const override { return point_.published(); }
  std::span<const std::byte> replicated() const override { return point_.replicated(); }
  void archive(Archive& archive) override { point_.archive(archive); }

 private:
  ClampedSchedule schedule(const PublicFacts& facts) const {
    const HeavyTailProblem whole = moments_.problem(facts);
    const auto round = [&](double records, double distance) {
      HeavyTailProblem problem = whole;
      problem.records = records, problem.diameter = distance;
      return std::pair(problem, plan_output(problem, clip(problem), phases(records), shape_));
    };
    ClampedSchedule all;
    if (strong_convexity_ == 0) {
      append(all, round(whole.records, whole.diameter));
    } else {
      const double radius = std::min(whole.diameter, 2 * whole.tail.first / strong_convexity_);
      const auto excess = [&](double m) { return round(m, 1).second.bound; };
      const StrongSchedule rounds = plan_strong(facts.data.records, radius, strong_convexity_, excess);
      for (const StrongPhase& r : rounds.phases) append(all, round(static_cast<double>(r.records), r.radius));
      all.bound = rounds.excess;
    }
    return all;
  }

  // Envelopes are below their losses by at most h/2 |grad|^2, h/2 G_2^2 on average.
  void append(ClampedSchedule& all, const std::pair<HeavyTailProblem, OutputPlan>& round) const {
    const auto& [problem, plan] = round;
    const double G2 = problem.tail.second, h = 2 * smoothing_ * plan.bound / (G2 * G2);
    for (const OutputPhase& phase : plan.phases) all.phases.push_back({phase, clip(problem), h});
    all.bound = plan.bound * (1 + smoothing_);
  }

  std::uint64_t phases(double records) const {
    return std::min(static_cast<std::uint64_t>(phases_),
                    static_cast<std::uint64_t>(std::log2(std::max(2.0, records))));
  }

  double clip(const HeavyTailProblem& problem) const {
    return raised_clip(clip_ > 0 ? clip_ : envelope_clip(problem), strong_convexity_, problem.diameter);
  }

  // |x - x_(i-1)| of a certified point is at most |grad F(x_(i-1))| + tau over lambda.
  double reach(const ClampedPhase& phase, double l2) const {
    return (1.01 * phase.clip + 2 * l2 * moments_.radius()) / phase.lambda;
  }

  // The error of the computed gradient: of the records' steps, each h times a gradient; of the mean and of lambda z
  // in double, and of x = x_(i-1) + z.
  static double rounding(const ClampedSteps& steps, const ClampedPhase& phase, double l2, double size) {
    const L2Bound cap{phase.smoothing * phase.clip};
    const Lattice lattice{-std::ilogb(PhaseView::quantum(cap, phase.records))};
    const double of_steps =
        steps.error({StepMode::proximal, phase.smoothing}, size, cap.clip, lattice) / phase.smoothing;
    return of_steps + 8 * 0x1p-53 * (phase.clip + (phase.lambda + l2) * size);
  }

  // So that every phase ends: half of the tolerance is enough for rounding wherever the point is.
  void check_certificate(const ClampedPhase& phase, const Objective& objective) const {
    const double size = moments_.radius() + reach(phase, objective.l2) + reach(phase, 0);
    if (const double error = rounding(ClampedSteps(objective), phase, objective.l2, size);
        error > phase.tolerance / 2)
      throw ConfigError(
          fmt::format("method.certificate = {}: a gradient norm of {:.3g} cannot be certified, for rounding may be "
                      "{:.3g}: it must be at least {:.2g}, or method.smoothing = {} larger",
                      shape_.certificate, phase.tolerance, error, 2 * error / phase.tolerance * shape_.certificate,
                      smoothing_));
  }

  /// g = gradient of F at x_(i-1) + z; returns how far from exact it may be.
  double gradient_of(PhaseView& part, const ClampedPhase& phase, std::span<const double> z, std::span<double> g) {
    double square = 0;
    for (std::size_t j = 0; j < z.size(); ++j) {
      at_[j] = point_.x[j] + z[j];
      square += at_[j] * at_[j];
    }
    const double h = phase.smoothing, per_record = 1 / (h * static_cast<double>(phase.records));
    const auto sum = part.sum(0, phase.records, {h * phase.clip}, steps_->steps(at_, {StepMode::proximal, h}));
    for (std::size_t j = 0; j < z.size(); ++j)
      g[j] = per_record * sum[j] + phase.lambda * z[j] + decay_[j] * at_[j];
    return rounding(*steps_, phase, objective_->l2, std::sqrt(square) * (1 + 0x1p-40) + reach(phase, 0));
  }

  std::int64_t phases_ = 2, seed_ = 1;
  double clip_ = 0, smoothing_ = 0.02, strong_convexity_ = 0;
  OutputShape shape_{.last_takes_all = true};
  HeavyTailOptions moments_;
  mutable ClampedSchedule schedule_;  // of the last call of queries()

  Objective* objective_ = nullptr;
  Query query_;
  std::unique_ptr<ClampedSteps> steps_;
  std::unique_ptr<CertifiedMinimum> solver_;
  ReleasedPoint point_;
  std::vector<double> origin_, at_;
  std::vector<double> decay_;  // of the public regulariser: l2, but 0 for the bias
};

const MethodRegistration ht_known_lipschitz{
    {"ht-known-lipschitz", "phases of certified risk minimisation with noise on their results, for linear models",
     "Asi, Liu and Tian 2024 (arXiv:2406.02789), Algorithm 4 and Theorem 2, corrected",
     make_method<HtKnownLipschitz>}};

}  // namespace
}  // namespace dpmpi
