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

#include "core/numbers/real.hpp"
#include "method/ball.hpp"
#include "method/heavy_tailed/advice.hpp"
#include "method/heavy_tailed/certified_minimum.hpp"
#include "method/heavy_tailed/known_lipschitz_schedule.hpp"
#include "method/released_point.hpp"
#include "method/require.hpp"

namespace dpmpi {
namespace {

constexpr double passes = 100;  // over a phase's records, a guess for plans: how many there were is secret

class HtKnownLipschitzPlan final : public MethodPlan {
 public:
  HtKnownLipschitzPlan(const HtKnownLipschitzSettings& settings, const PublicFacts& facts)
      : settings_(settings), facts_(facts) {
    Problems problems;
    check_scalar_link(facts, "ht-known-lipschitz", problems);
    refuse(problems);
    schedule_ = plan_clamped(settings, facts);
    steps = schedule_.phases.size();
  }

  // A record is in one phase: all of them are one Gaussian event. Under replace_one declare() doubles the bound of
  // a part.
  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    Disjoint parts;
    parts.seed = whole(settings_.seed);
    double range = 0;
    const double change = settings_.moments.problem(facts_).change;
    for (const ClampedPhase& phase : schedule_.phases) {
      parts.parts.push_back({phase.records, 1, phase.sensitivity / change});
      range = std::max(range, phase.reach(settings_.moments.radius, facts_.objective->l2));
    }
    return {{.name = "minimiser",
             .dim = facts_.objective->dim(),
             .sampling = parts,
             .noise_multiplier = noise_multiplier,
             .steps = steps,
             .kind = Phases{.range = range, .sums = passes},
             .effort = passes}};
  }

  // Of phase i: n records, lambda, C, tau the tolerance, h the smoothing, sensitivity, sigma the noise.
  Derived report_quantities(const std::vector<Query>& queries) const override {
    Derived all{{"bound", schedule_.bound}};
    for (std::size_t i = 0; i < schedule_.phases.size(); ++i) {
      const ClampedPhase& phase = schedule_.phases[i];
      const auto add = [&](const char* symbol, double value) {
        all.emplace_back(fmt::format("{}_{}", symbol, i + 1), value);
      };
      add("n", real(phase.records)), add("lambda", phase.lambda), add("C", phase.clip);
      add("tau", phase.tolerance), add("h", phase.smoothing);
      add("sens", queries.at(0).parts.at(i).sensitivity), add("sigma", queries.at(0).parts.at(i).noise_std);
    }
    return all;
  }

  std::string notes(const std::vector<Query>& queries) const override {
    return pass_advice(facts_, 1 / queries.at(0).noise_multiplier) +
           "two phases, lambda_scale = 0.3 to 1 and a public clip below that of the moments did best in experiments\n" +
           phase_lines(report_quantities(queries));
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  HtKnownLipschitzSettings settings_;
  PublicFacts facts_;
  ClampedSchedule schedule_;
};

class HtKnownLipschitz final : public ReleasedPoint {
 public:
  HtKnownLipschitz(const HtKnownLipschitzSettings& settings, const ClampedSchedule& schedule, Objective& objective,
                   const Query& query)
      : objective_(objective),
        query_(query),
        phases_(schedule.phases),
        radius_(settings.moments.radius),
        steps_(objective),
        solver_(objective.dim()) {
    start_at(start_point(objective, whole(settings.seed)));
    origin_ = at_ = x_;
    std::vector<float> decay(objective.dim()), ones(objective.dim(), 1.0f);
    objective.add_regularizer_gradient(ones, decay);
    decay_.assign(decay.begin(), decay.end());
  }

  void step(Curator& curator, std::uint64_t t) override {
    const ClampedPhase& phase = phases_.at(t);
    auto minimiser = curator.run_phase(query_, t, [&](PhaseView& part, std::span<double> z) {
      const auto gradient = [&](std::span<const double> at, std::span<double> g) {
        return gradient_of(part, phase, at, g);
      };
      solver_.run(gradient, 1 / phase.smoothing + phase.lambda + objective_.l2, phase.tolerance, z);
    });
    const auto noisy = curator.release_exact(std::move(minimiser));
    for (std::size_t j = 0; j < noisy.size(); ++j) x_[j] += noisy[j];
    project({origin_, radius_}, x_);
    publish();
  }

 private:
  /// g = gradient of F at x_(i-1) + z; returns how far from exact it may be.
  double gradient_of(PhaseView& part, const ClampedPhase& phase, std::span<const double> z, std::span<double> g) {
    double square = 0;
    for (std::size_t j = 0; j < z.size(); ++j) {
      at_[j] = x_[j] + z[j];
      square += at_[j] * at_[j];
    }
    const double h = phase.smoothing, per_record = 1 / (h * real(phase.records));
    const auto sum = part.sum(0, phase.records, {h * phase.clip}, steps_.steps(at_, {StepMode::proximal, h}));
    for (std::size_t j = 0; j < z.size(); ++j)
      g[j] = per_record * sum[j] + phase.lambda * z[j] + decay_[j] * at_[j];
    return phase.rounding(steps_, objective_.l2, std::sqrt(square) * (1 + 0x1p-40) + phase.reach(radius_, 0));
  }

  Objective& objective_;
  Query query_;
  std::vector<ClampedPhase> phases_;
  double radius_;
  ClampedSteps steps_;
  CertifiedMinimum solver_;
  std::vector<double> origin_, at_;
  std::vector<double> decay_;  // of the public regulariser: l2, but 0 for the bias
};

std::unique_ptr<Algorithm> HtKnownLipschitzPlan::start(Objective& objective,
                                                       const std::vector<Query>& queries) const {
  return std::make_unique<HtKnownLipschitz>(settings_, schedule_, objective, queries.at(0));
}

const MethodRegistration ht_known_lipschitz{
    {"ht-known-lipschitz", "phases of certified risk minimisation with noise on their results, for linear models",
     "Asi, Liu and Tian 2024 (arXiv:2406.02789), Algorithm 4 and Theorem 2, corrected",
     make_method<HtKnownLipschitzSettings>}};

}  // namespace

std::unique_ptr<const MethodPlan> HtKnownLipschitzSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<HtKnownLipschitzPlan>(*this, facts);
}

}  // namespace dpmpi
