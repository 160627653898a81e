#include "method/heavy_tailed/known_lipschitz_schedule.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/numbers/real.hpp"
#include "method/heavy_tailed/strongly_convex_rounds.hpp"
#include "method/require.hpp"
#include "privacy/curator/phase_view.hpp"

namespace dpmpi {

double envelope_clip(const HeavyTailProblem& problem) {
  check(problem);
  constexpr double noise_constant = 11.32;  // of C D r in plan_output's bound, growth 8
  const double k = problem.tail.order;
  return problem.tail.moment *
         std::pow((k - 1) * clip_constant(k) / (noise_constant * privacy_ratio(problem)), 1 / k);
}

double raised_clip(double clip, double convexity, double reach) {
  require_positive("clip", clip);
  require(std::isfinite(convexity) && convexity >= 0, "strong convexity", convexity, "finite and at least 0");
  require(std::isfinite(reach) && reach >= 0, "reach", reach, "finite and at least 0");
  return std::max(clip, convexity * reach);
}

namespace {

// The bound is lambda D^2 / 2 + (generalisation + noise) / lambda, and the last phase's noise.
double terms_over_lambda(const HeavyTailProblem& p, double unit, std::uint64_t phases, double growth) {
  double generalisation = 0, noise = 0, shrink = 1;  // shrink = growth^-i
  for (std::uint64_t i = 0; i < phases; ++i, shrink /= growth) {
    const double records = std::floor(std::ldexp(p.records, -static_cast<int>(i) - 1));
    generalisation += 2 * p.tail.second * p.tail.second / records * shrink;
    if (i + 1 == phases) break;
    const double deviation = unit / records * shrink;
    noise += growth / 2 * p.dim * deviation * deviation / shrink;
  }
  return generalisation + noise;
}

}  // namespace

OutputPlan plan_output(const HeavyTailProblem& problem, double clip, std::uint64_t phases,
                       const OutputShape& shape) {
  const double certificate = shape.certificate, growth = shape.growth;
  check(problem);
  require_positive("clip", clip);
  require(std::isfinite(certificate) && certificate >= 0, "certificate", certificate, "finite and at least 0");
  require(std::isfinite(growth) && growth > 4, "growth of the regulariser", growth, "finite and above 4");
  require_positive("factor on lambda", shape.lambda_scale);
  require(problem.records >= 2, "records at hand (data.records, or those of data.train)", problem.records,
          "at least 2");
  require(phases >= 1 && phases <= 40 && std::ldexp(1.0, static_cast<int>(phases)) <= problem.records,
          "method.phases", static_cast<double>(phases),
          fmt::format("in [1, log2 of the {} records at hand]", problem.records));

  const double unit = (problem.change + 2 * certificate) * clip / problem.mu;  // noise of lambda = n_i = 1
  const double over_lambda = terms_over_lambda(problem, unit, phases, growth);
  double lambda = shape.lambda_scale * std::sqrt(2 * over_lambda) / problem.diameter;
  OutputPlan plan;
  plan.bound = lambda * problem.diameter * problem.diameter / 2 + over_lambda / lambda;
  const auto n = static_cast<std::uint64_t>(problem.records);
  std::uint64_t first = 0;
  for (std::uint64_t i = 1; i <= phases; ++i, lambda *= growth) {
    const std::uint64_t records = shape.last_takes_all && i == phases ? n - first : n >> i;
    const double tolerance = certificate * clip / static_cast<double>(records);
    const double sensitivity =
        problem.change * clip / (lambda * static_cast<double>(records)) + 2 * tolerance / lambda;
    plan.phases.push_back({first, records, lambda, tolerance, sensitivity, sensitivity / problem.mu});
    first += records;
  }
  plan.bound += problem.tail.second * plan.phases.back().noise * std::sqrt(problem.dim);
  return plan;
}

namespace {

struct ClampedRound {
  OutputPlan plan;
  double clip = 1;
};

ClampedRound plan_round(const HtKnownLipschitzSettings& settings, const HeavyTailProblem& problem) {
  const double clip = raised_clip(settings.clip > 0 ? settings.clip : envelope_clip(problem),
                                  settings.strong_convexity, problem.diameter);
  const auto most = static_cast<std::uint64_t>(std::log2(std::max(2.0, problem.records)));
  return {plan_output(problem, clip, std::min(whole(settings.phases), most), settings.shape), clip};
}

// Envelopes are below their losses by at most h/2 |grad|^2, h/2 G_2^2 on average.
void append(ClampedSchedule& all, const ClampedRound& round, const HtKnownLipschitzSettings& settings) {
  const double G2 = settings.moments.tail.second, h = 2 * settings.smoothing * round.plan.bound / (G2 * G2);
  for (const OutputPhase& phase : round.plan.phases) all.phases.push_back({phase, round.clip, h});
  all.bound = round.plan.bound * (1 + settings.smoothing);
}

// So that the phase ends: half of the tolerance is enough for rounding wherever the point is.
void check_certificate(const HtKnownLipschitzSettings& settings, const ClampedPhase& phase,
                       const Objective& objective) {
  const double radius = settings.moments.radius, certificate = settings.shape.certificate;
  const double size = radius + phase.reach(radius, objective.l2) + phase.reach(radius, 0);
  if (const double error = phase.rounding(ClampedSteps(objective), objective.l2, size); error > phase.tolerance / 2)
    throw ConfigError(fmt::format(
        "method.certificate = {}: a gradient norm of {:.3g} cannot be certified, for rounding may be "
        "{:.3g}: it must be at least {:.2g}, or method.smoothing = {} larger",
        certificate, phase.tolerance, error, 2 * error / phase.tolerance * certificate, settings.smoothing));
}

}  // namespace

void HtKnownLipschitzSettings::declare(Options& options) {
  moments.declare(options);
  options
      .add("clip", clip, "Lipschitz constant C that losses are clamped to, a public constant (0: by the moments)",
           Range::closed(0, 1e20))
      .add("phases", phases, "phases; the last one takes all records that are left (at most log2 of the records)",
           Range::closed(1, 40))
      .add("growth", shape.growth, "factor by which the regulariser grows from phase to phase",
           Range{4, 1e6, true, false})
      .add("lambda_scale", shape.lambda_scale, "factor on the planned regularisers", Range::closed(1e-12, 1e12))
      .add("certificate", shape.certificate, "largest gradient norm of a phase's result, in units of C / n_i",
           Range::open(0, 1))
      .add("smoothing", smoothing, "error of Moreau envelopes, as a share of the bound of the excess risk",
           Range::open(0, 1))
      .add("strong_convexity", strong_convexity,
           "m of an m-strongly convex risk, e.g. objective.l2: rounds on twice the records each (0: one round)",
           Range::closed(0, 1e12))
      .add("seed", seed, "public seed of the start point and of the cut into phases", Range::at_least(0));
}

ClampedSchedule plan_clamped(const HtKnownLipschitzSettings& settings, const PublicFacts& facts) {
  const HeavyTailProblem everyone = settings.moments.problem(facts);
  const double convexity = settings.strong_convexity;
  ClampedSchedule all;
  if (convexity == 0) {
    append(all, plan_round(settings, everyone), settings);
  } else {
    const auto round = [&](double records, double distance) {
      HeavyTailProblem problem = everyone;
      problem.records = records, problem.diameter = distance;
      return plan_round(settings, problem);
    };
    const double radius = std::min(everyone.diameter, 2 * everyone.tail.first / convexity);
    const auto excess = [&](double m) { return round(m, 1).plan.bound; };
    const StrongSchedule rounds = plan_strong(facts.data.records, radius, convexity, excess);
    for (const StrongPhase& r : rounds.phases) append(all, round(real(r.records), r.radius), settings);
    all.bound = rounds.excess;
  }
  for (const ClampedPhase& phase : all.phases) check_certificate(settings, phase, *facts.objective);
  return all;
}

// |x - x_(i-1)| of a certified point is at most |grad F(x_(i-1))| + tau over lambda.
double ClampedPhase::reach(double radius, double l2) const { return (1.01 * clip + 2 * l2 * radius) / lambda; }

// Of the records' steps, each h times a gradient; of the mean and of lambda z in double, and of x = x_(i-1) + z.
double ClampedPhase::rounding(const ClampedSteps& steps, double l2, double size) const {
  const L2Bound cap{smoothing * clip};
  const Lattice lattice{-std::ilogb(PhaseView::quantum(cap, records))};
  const double of_steps = steps.error({StepMode::proximal, smoothing}, size, cap.clip, lattice) / smoothing;
  return of_steps + 8 * 0x1p-53 * (clip + (lambda + l2) * size);
}

}  // namespace dpmpi
