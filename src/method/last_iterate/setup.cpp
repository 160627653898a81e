#include "method/last_iterate/setup.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/last_iterate/refusal.hpp"
#include "objective/values/projected_differences.hpp"
#include "privacy/last_iterate/bounds.hpp"

namespace dpmpi {
namespace {

constexpr double default_radius = 1e-3;      // where nothing says how smooth the loss is
constexpr double free_error = 0.002;         // of s: c2 that the automatic radius leaves to finite differences
constexpr double largest_error = 0.1;        // of s: above it the bound would be about rounding
constexpr double clip_margin = 1 + 0x1p-30;  // a norm that is computed must not reach the clip by rounding

// The constants, declared or known from the form of the loss, on the ball that probes may reach.
std::optional<Smoothness> constants(const LastIterateSettings& settings, const PublicFacts& facts, double ball,
                                    double xi) {
  const double reach = ball + xi;
  const bool linear = ProjectedDifferences::linear(*facts.objective);
  if (!settings.proved.empty()) {
    const double M = settings.proved[0], lower = settings.proved[1], L = settings.proved[2];
    // Margins and directions are sums of d products in double; other losses are read at float32 points, two for a
    // difference, that are a float32 step apart.
    const double terms = static_cast<double>(facts.objective->dim()) + 8;
    const double rounding = linear ? terms * 0x1p-53 * (M * reach + L) : 0x1p-24 * L * (reach / xi + 2);
    return Smoothness{.M = M,
                      .lower = lower,
                      .L = L,
                      .T3 = {},
                      .convex = lower >= 0,
                      .probe_error_fp = rounding,
                      .provenance = "user asserted (method.i_have_proved)"};
  }
  if (settings.feature_bound == 0) return {};
  if (!settings.hidden() && is_quantity(facts.objective->label_kind()) && settings.label_bound == 0) return {};
  return smoothness(*facts.objective, settings.feature_bound, settings.label_bound, reach);
}

// The largest radius at which finite differences add `free_error` to the distance of coupled runs, as if the clip
// were L. Of losses that are read at float32 points: the radius at which curvature and rounding add the same.
double free_radius(const LastIterateProblem& p, const Smoothness& smooth) {
  if (!p.linear)
    return std::min(0.01 * p.R, std::sqrt(0x1p-22 * smooth.L * p.R / (smooth.M - std::min(smooth.lower, 0.0))));
  const double e = free_error * smooth.L / (std::sqrt(p.K) * real(p.batch));
  double xi = e * (smooth.convex ? 4 : 2) / smooth.M;
  if (smooth.T3) xi = std::max(xi, *smooth.T3 > 0 ? std::sqrt(6 * e / *smooth.T3) : default_radius);
  return std::min({xi, 0.01 * p.R, default_radius});
}

Probing choose_radius(const LastIterateSettings& settings, const PublicFacts& facts, const LastIterateProblem& p) {
  const double given = settings.radius > 0 ? settings.radius : default_radius;
  const double ball = std::isinf(p.R) ? 0 : p.R;
  const auto first = constants(settings, facts, ball, given);
  if (!first || std::isinf(p.R)) return {given, first};
  const double xi = settings.radius == 0 ? free_radius(p, *first) : given;
  const auto smoothness = constants(settings, facts, ball, xi);
  return {xi, smoothness, smoothness->probe_error(xi)};
}

// On average a step moves by eta length^2 / d times the gradient. By composition the default makes that the step of
// gradient descent by one over the smoothness. The bound for hidden iterates needs h M <= 2, so h M is 1 there,
// which is a step of K / d of that.
double choose_rate(const LastIterateSettings& settings, const PublicFacts& facts, const LastIterateProblem& p,
                   const Probing& probing) {
  if (settings.rate > 0) return settings.rate;
  if (!probing.smoothness)
    throw ConfigError("method.rate is needed: the smoothness of the loss is not known (give method.feature_bound)");
  const double M = probing.smoothness->M;
  return settings.hidden() ? p.K / M : p.d / (p.length * p.length * (M + facts.objective->l2));
}

// Above this no clip acts: differences are within L, and within the gradient's projection and the errors.
double inactive_clip(const LastIterateProblem& p, const Probing& probing, bool joint, double failure) {
  const Smoothness& m = *probing.smoothness;
  const double root = std::sqrt(p.K), error = probing.error;
  const double sure = joint ? std::min(root * (m.L + m.probe_error_fp), m.L + root * error) : m.L + error;
  if (failure == 0) return sure * clip_margin;
  const double likely = high_probability_clip(failure, joint, m.L, error, static_cast<std::uint64_t>(p.K),
                                              static_cast<std::uint64_t>(p.d), real(p.batch) * real(p.steps));
  return std::min(sure, likely) * clip_margin;
}

double choose_clip(const LastIterateSettings& settings, const PublicFacts& facts, const LastIterateProblem& p,
                   const Probing& probing) {
  double clip = settings.clip > 0 ? settings.clip : 1;
  if (probing.smoothness && !std::isinf(p.R)) {
    const double inactive = inactive_clip(p, probing, settings.joint, settings.clip_failure);
    if (settings.clip == 0) clip = inactive;
    if (settings.hidden() && clip < inactive)
      refuse_hidden(
          settings, facts,
          fmt::format("HS-02 method.clip = {} is below the bound on differences ({:.6g}; method.clip = 0 takes it, "
                      "method.clip_failure a smaller one)",
                      clip, inactive));
  }
  return settings.joint ? clip : clip * std::sqrt(p.K);
}

LastIterateStep choose_step(const LastIterateSettings& settings, const PublicFacts& facts,
                            const LastIterateProblem& p, const Probing& probing) {
  const double eta = choose_rate(settings, facts, p, probing);
  const double omega = eta / p.K * facts.objective->l2 * p.K * p.length * p.length / p.d;
  return {p, probing, eta, omega, choose_clip(settings, facts, p, probing)};
}

bool regularises_all(const Objective& objective) {
  return std::ranges::all_of(objective.groups(), &ParameterGroup::regularised);
}

// The step w -> D w - h U U^T grad a(w) with D = 1 - omega on regularised coordinates, 1 on others: across the
// directions it shrinks distances by `most` = max D, along them by the largest eigenvalue of D - h Hessian, over
// `most`. Curvature above 0 is not used: slots that are empty and records that are not finite, in either dataset,
// count as 0 and have none.
double contraction(const LastIterateStep& s, double most) {
  const Smoothness& m = *s.smoothness;
  const double top = most - s.h() * std::min(m.lower, 0.0), bottom = 1 - s.omega - s.h() * m.M;
  return std::max(std::abs(top), std::abs(bottom)) / most;
}

// What rounding of a step's state may add to the distance of two coupled runs, over s: terms that do not depend on
// the noise, and per unit of it. Sums of K + 2 terms a coordinate and a norm by chunks of 256: (K + 300) 2^-52 of
// all that is added up; normals are below 10; and two roundings to the lattice.
struct Rounding {
  double state, noise;
};
Rounding rounding_of(const LastIterateStep& s) {
  const double unit = 2 * (s.K + 300) * 0x1p-52, root = std::sqrt(s.K);
  return {.state = unit * (s.R + root * s.h() * s.clip) / s.shift(),
          .noise = unit * 20 * s.K + 1.01 * root * (real(s.batch) + 1) * 0x1p-35};
}

// The run, its noise left out.
HiddenState run_of(const LastIterateSettings& settings, const PublicFacts& facts, const LastIterateStep& s,
                   const Rounding& rounding) {
  const auto* cyclic = std::get_if<Cyclic>(&s.sampling);
  const auto* shuffled = std::get_if<Shuffled>(&s.sampling);
  HiddenState run;
  run.steps = s.steps;
  run.diameter = 2 * s.R / s.shift();
  run.drift = real(s.batch) + rounding.state;
  run.error = 2 * s.error * s.h() * std::sqrt(s.K) / s.shift() + rounding.state;
  run.retention = regularises_all(*facts.objective) ? 1 - s.omega : 1;
  run.contraction = contraction(s, run.retention);
  run.directions = static_cast<std::uint64_t>(s.K);
  run.dimension = static_cast<std::uint64_t>(s.d);
  run.population = s.records;
  run.parts = cyclic ? cyclic->parts : shuffled ? shuffled->runs : 1;
  // A pass of one part takes its records in every step: no fresh sample, although it leaves some records out.
  run.batch = shuffled && run.parts == 1 ? s.records : s.batch;
  run.reshuffled = shuffled && shuffled->reshuffle && run.parts > 1;
  run.failure = settings.clip_failure;
  if (const auto released = settings.released_steps(); released.size() > 1) run.releases = released;
  return run;
}

// N and f*: the last N steps have noise in all coordinates, so that two runs can be brought together; the steps
// before have it along the directions, where it serves composition best.
LastIterateNoise hidden_noise(const LastIterateSettings& settings, const PublicFacts& facts,
                              const LastIterateStep& s) {
  if (s.omega >= 1)
    throw ConfigError(
        fmt::format("objective.l2 takes all of w in a step (omega = {:.3g}): make method.rate smaller", s.omega));
  const Rounding rounding = rounding_of(s);
  HiddenState run = run_of(settings, facts, s, rounding);
  if (run.error > largest_error)
    refuse_hidden(
        settings, facts,
        fmt::format("finite differences and rounding add {:.3g} of a record's shift to the distance of two runs in "
                    "a step, above {}: change method.radius = {:.3g}",
                    run.error, largest_error, s.xi));

  const bool best_share = settings.share == LastIterateSettings::automatic, best_window = settings.window == 0;
  const HiddenDesign best = best_share || best_window ? design(run, facts.delta * failure_share) : HiddenDesign{};
  const std::uint64_t N = best_window ? best.window : whole(settings.window);
  const double f = best_share ? best.share : settings.share;
  if (N == 0 || (f == 1 && best_share)) return {};  // no coupling is better than composition
  if (f >= 1)
    refuse_hidden(settings, facts, "HS-05 method.share = 1 in the window: there is no noise across the directions");
  run.hybrid = N;
  run.before_multiplier = N < s.steps ? 1 : 0;
  run.directional_multiplier = std::sqrt(f);
  run.isotropic_multiplier = std::sqrt((1 - f) * s.K / s.d);
  return {f, N, run, rounding.noise};
}

LastIterateNoise composed_noise(const LastIterateSettings& settings) {
  const double f = settings.share == LastIterateSettings::automatic ? 1 : settings.share;
  return {.f = f, .N = f < 1 ? settings.T() : 0};
}

LastIterateProblem problem_of(const LastIterateSettings& settings, const PublicFacts& facts) {
  const std::uint64_t n = facts.data.records;
  const SamplingRule sampling = settings.rule(n);
  const auto* cyclic = std::get_if<Cyclic>(&sampling);
  const double d = real(facts.objective->dim()), K = real(settings.K());
  const bool is_long = settings.law == DirectionLaw::sphere_sqrtd || settings.law == DirectionLaw::gauss;
  if (settings.law == DirectionLaw::stiefel && K > d)
    throw ConfigError(fmt::format("method.directions = {} orthonormal directions do not fit {} parameters", K, d));
  return {.sampling = sampling,
          .records = n,
          .steps = settings.T(),
          .batch = std::holds_alternative<FullBatch>(sampling) ? n
                   : cyclic ? (n + cyclic->parts - 1) / cyclic->parts  // the largest part
                            : whole(settings.batch),
          .d = d,
          .K = K,
          .linear = ProjectedDifferences::linear(*facts.objective),
          .length = is_long ? std::sqrt(d) : 1,
          .R = settings.ball > 0 ? settings.ball : infinity};
}

}  // namespace

LastIterateSetup set_up(const LastIterateSettings& settings, const PublicFacts& facts) {
  facts.objective->refuse_factors({.weight = true}, "differences along common directions (zo-hidden)");
  facts.objective->refuse_copies("methods of losses alone");
  const LastIterateProblem problem = problem_of(settings, facts);
  if (settings.hidden())
    if (const auto why = hidden_refusal(settings, facts); !why.empty()) refuse_hidden(settings, facts, why);
  const Probing probing = choose_radius(settings, facts, problem);
  if (settings.hidden() && !probing.smoothness)
    refuse_hidden(settings, facts, "HS-01 unknown smoothness of this objective");
  const LastIterateStep step = choose_step(settings, facts, problem, probing);
  return {step, settings.hidden() ? hidden_noise(settings, facts, step) : composed_noise(settings)};
}

double LastIterateSetup::across(std::uint64_t t) const {
  return t + N < steps ? 0 : length * std::sqrt((1 - f) * K / d);
}

double LastIterateSetup::along() const { return event || N == 0 ? 1 : std::sqrt(f + (1 - f) * K / d); }

QuerySpec LastIterateSetup::query(double z) const {
  return {.name = "differences",
          .dim = static_cast<std::size_t>(K),
          .sampling = sampling,
          .bound = {clip},
          .slack = {.clip = ProjectedDifferences::slack(static_cast<std::size_t>(K)).clip},
          .noise_multiplier = along() * z,
          .steps = steps,
          .kind = event ? QueryKind{LastIterateRun{*event, rounding}} : ExactSum{},
          .effort = linear ? (K + 1) / 3 : 2 * K / 3,
          .worker_noise = N > 0 && f < 1 ? static_cast<std::uint64_t>(d) : 0,
          .worker_random_numbers = static_cast<std::uint64_t>(K * d)};
}

}  // namespace dpmpi
