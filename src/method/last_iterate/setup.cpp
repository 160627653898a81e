#include "method/last_iterate/setup.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/zeroth_order/options.hpp"
#include "privacy/last_iterate/bounds.hpp"
#include "privacy/promise/calibrate.hpp"
#include "privacy/promise/guarantee.hpp"

namespace dpmpi {
namespace {

constexpr double default_radius = 1e-3;      // where nothing says how smooth the loss is
constexpr double free_error = 0.002;         // of s: c2 that the automatic radius leaves to finite differences
constexpr double largest_error = 0.1;        // of s: above it the bound would be about rounding
constexpr double clip_margin = 1 + 0x1p-30;  // a norm that is computed must not reach the clip by rounding

// Whether smoothness() can say anything about the loss.
bool has_known_form(const Objective& objective) { return smoothness(objective, 1, 1, 1).has_value(); }

// What composition promises for the same steps with all noise along the directions, in words.
std::string composition_text(const HiddenOptions& options, const PublicFacts& facts) {
  Query query;
  query.sampling = options.rule(facts.data.records);
  query.steps = options.T();
  query.records = facts.data.records;
  const auto events = [&](double z) {
    query.noise_multiplier = z;
    return query.events(0, query.steps);
  };
  std::string text = "set method.accounting = composition, which holds for any loss and whoever sees the iterates";
  if (facts.noise_multiplier > 0)
    return text +
           fmt::format(
               ": epsilon = {} at delta = {}",
               rounded_up(
                   epsilon_guarantee(events(facts.noise_multiplier), facts.adjacency, facts.delta, "best").epsilon),
               rounded_up(facts.delta));
  if (facts.epsilon > 0)
    return text + fmt::format(": epsilon = {} at delta = {} with noise multiplier {}", rounded_up(facts.epsilon),
                              rounded_up(facts.delta),
                              calibrate_noise(events, {facts.epsilon, facts.delta, facts.adjacency}, "best").value);
  return text;
}

[[noreturn]] void refuse(const HiddenOptions& options, const PublicFacts& facts, std::string_view why) {
  throw PrivacyError(fmt::format("{}: hidden-state bound unavailable; {}", why, composition_text(options, facts)));
}

// The constants, declared or known from the form of the loss, on the ball that probes may reach.
std::optional<Smoothness> constants(const HiddenOptions& options, const PublicFacts& facts, double ball,
                                    double xi) {
  const double reach = ball + xi;
  const bool linear = ProjectedDifferences::linear(*facts.objective);
  if (options.smooth > 0 && options.lipschitz > 0 && options.proved) {
    // Margins and directions are sums of d products in double; other losses are read at float32 points, two for a
    // difference, that are a float32 step apart.
    const double terms = static_cast<double>(facts.objective->dim()) + 8;
    const double rounding = linear ? terms * 0x1p-53 * (options.smooth * reach + options.lipschitz)
                                   : 0x1p-24 * options.lipschitz * (reach / xi + 2);
    return Smoothness{.M = options.smooth,
                      .lower = options.curvature,
                      .L = options.lipschitz,
                      .T3 = {},
                      .convex = options.curvature >= 0,
                      .probe_error_fp = rounding,
                      .provenance = "user asserted (method.i_have_proved_it)"};
  }
  if (options.declares() || options.feature_bound == 0) return {};
  if (!options.hidden() && is_quantity(facts.objective->label_kind()) && options.label_bound == 0) return {};
  return smoothness(*facts.objective, options.feature_bound, options.label_bound, reach);
}

// The largest radius at which finite differences add `free_error` to the distance of coupled runs, as if the clip
// were L. Of losses that are read at float32 points: the radius at which curvature and rounding add the same.
double free_radius(const HiddenSetup& s, const Smoothness& smooth) {
  if (!s.linear)
    return std::min(0.01 * s.R, std::sqrt(0x1p-22 * smooth.L * s.R / (smooth.M - std::min(smooth.lower, 0.0))));
  const double e = free_error * smooth.L / (std::sqrt(s.K) * real(s.batch));
  double xi = e * (smooth.convex ? 4 : 2) / smooth.M;
  if (smooth.T3) xi = std::max(xi, *smooth.T3 > 0 ? std::sqrt(6 * e / *smooth.T3) : default_radius);
  return std::min({xi, 0.01 * s.R, default_radius});
}

void choose_radius(HiddenSetup& s, const HiddenOptions& options, const PublicFacts& facts) {
  s.xi = options.radius > 0 ? options.radius : default_radius;
  const double ball = std::isinf(s.R) ? 0 : s.R;
  s.smoothness = constants(options, facts, ball, s.xi);
  if (!s.smoothness || std::isinf(s.R)) return;
  if (options.radius == 0) s.xi = free_radius(s, *s.smoothness);
  s.smoothness = constants(options, facts, ball, s.xi);
  s.error = s.smoothness->probe_error(s.xi);
}

void choose_rate(HiddenSetup& s, const HiddenOptions& options) {
  if (options.rate == 0 && !s.smoothness)
    throw ConfigError("method.rate is needed: the smoothness of the loss is not known (give method.feature_bound)");
  s.eta = options.rate > 0 ? options.rate : s.K / s.smoothness->M;
}

// Above this no clip acts: differences are within L, and within the gradient's projection and the errors.
double inactive_clip(const HiddenSetup& s, bool joint, double failure) {
  const Smoothness& m = *s.smoothness;
  const double root = std::sqrt(s.K);
  const double sure = joint ? std::min(root * (m.L + m.probe_error_fp), m.L + root * s.error) : m.L + s.error;
  if (failure == 0) return sure * clip_margin;
  const double likely = high_probability_clip(failure, joint, m.L, s.error, static_cast<std::uint64_t>(s.K),
                                              static_cast<std::uint64_t>(s.d), real(s.batch) * real(s.steps));
  return std::min(sure, likely) * clip_margin;
}

void choose_clip(HiddenSetup& s, const HiddenOptions& options, const PublicFacts& facts) {
  double clip = options.clip > 0 ? options.clip : 1;
  if (s.smoothness && !std::isinf(s.R)) {
    const double inactive = inactive_clip(s, options.joint(), options.clip_failure);
    if (options.clip == 0) clip = inactive;
    if (options.hidden() && clip < inactive)
      refuse(
          options, facts,
          fmt::format("HS-02 method.clip = {} is below the bound on differences ({:.6g}; method.clip = 0 takes it, "
                      "method.clip_failure a smaller one)",
                      clip, inactive));
  }
  s.clip = options.joint() ? clip : clip * std::sqrt(s.K);
}

// The step w -> D w - h U U^T grad a(w) with D = 1 - omega on regularised coordinates, 1 on others: across the
// directions it shrinks distances by max D, along them by the largest eigenvalue of D - h Hessian. Curvature above
// 0 is not used: slots that are empty and records that are not finite, in either dataset, count as 0 and have none.
void contraction(HiddenSetup& s, double most, double least) {
  const Smoothness& m = *s.smoothness;
  const double top = most - s.h() * std::min(m.lower, 0.0), bottom = least - s.h() * m.M;
  s.zeta = most;
  s.c = std::max(std::abs(top), std::abs(bottom)) / most;
}

bool regularises_all(const Objective& objective) {
  return std::ranges::all_of(objective.groups(), &ParameterGroup::regularised);
}

// What rounding of a step's state may add to the distance of two coupled runs, over s: terms that do not depend on
// the noise, and per unit of it. Sums of K + 2 terms a coordinate and a norm by chunks of 256: (K + 300) 2^-52 of
// all that is added up; normals are below 10; and two roundings to the lattice.
void rounding(HiddenSetup& s) {
  const double unit = 2 * (s.K + 300) * 0x1p-52, root = std::sqrt(s.K);
  const double state = unit * (s.R + root * s.h() * s.clip) / s.shift();
  s.event->error = 2 * s.error * s.h() * root / s.shift() + state;
  s.event->drift += state;
  s.rounding = unit * 20 * s.K + 1.01 * root * (real(s.batch) + 1) * 0x1p-35;
}

void describe_run(HiddenSetup& s, const HiddenOptions& options, const PublicFacts& facts) {
  const auto* cyclic = std::get_if<Cyclic>(&s.sampling);
  const auto* shuffled = std::get_if<Shuffled>(&s.sampling);
  if (s.omega >= 1)
    throw ConfigError(
        fmt::format("objective.l2 takes all of w in a step (omega = {:.3g}): make method.rate smaller", s.omega));
  contraction(s, regularises_all(*facts.objective) ? 1 - s.omega : 1, 1 - s.omega);
  HiddenState run;
  run.steps = s.steps;
  run.diameter = 2 * s.R / s.shift();
  run.drift = real(s.batch);
  run.contraction = s.c;
  run.retention = s.zeta;
  run.directions = static_cast<std::uint64_t>(s.K);
  run.dimension = static_cast<std::uint64_t>(s.d);
  run.population = s.records;
  run.parts = cyclic ? cyclic->parts : shuffled ? shuffled->runs : 1;
  // A pass of one part takes its records in every step: no fresh sample, although it leaves some records out.
  run.batch = shuffled && run.parts == 1 ? s.records : s.batch;
  run.reshuffled = shuffled && shuffled->reshuffle && run.parts > 1;
  run.failure = options.clip_failure;
  if (const auto released = options.released_steps(); released.size() > 1) run.releases = released;
  s.event = run;
  rounding(s);
}

// N and f*: the last N steps have noise in all coordinates, so that two runs can be brought together; the steps
// before have it along the directions, where it serves composition best.
void choose_noise(HiddenSetup& s, const HiddenOptions& options, const PublicFacts& facts) {
  HiddenState& run = *s.event;
  s.N = static_cast<std::uint64_t>(options.window), s.f = options.share;
  if (s.N == 0 || s.f == HiddenOptions::automatic) {
    const HiddenDesign best = design(run, facts.delta * failure_share);
    if (s.N == 0) s.N = best.window;
    if (s.f == HiddenOptions::automatic) s.f = best.share;
  }
  if (s.N == 0 ||
      (s.f == 1 && options.share == HiddenOptions::automatic)) {  // no coupling is better than composition
    s.N = 0;
    s.event.reset(), s.f = 1;
    return;
  }
  if (s.f >= 1)
    refuse(options, facts, "HS-05 method.share = 1 in the window: there is no noise across the directions");
  run.hybrid = s.N;
  run.before_multiplier = s.N < s.steps ? 1 : 0;
  run.directional_multiplier = std::sqrt(s.f);
  run.isotropic_multiplier = std::sqrt((1 - s.f) * s.K / s.d);
}

void hide(HiddenSetup& s, const HiddenOptions& options, const PublicFacts& facts) {
  describe_run(s, options, facts);
  if (s.event->error > largest_error)
    refuse(
        options, facts,
        fmt::format("finite differences and rounding add {:.3g} of a record's shift to the distance of two runs in "
                    "a step, above {}: change method.radius = {:.3g}",
                    s.event->error, largest_error, s.xi));
  choose_noise(s, options, facts);
}

}  // namespace

std::string hidden_refusal(const HiddenOptions& options, const PublicFacts& facts) {
  const bool known = has_known_form(*facts.objective), linear = ProjectedDifferences::linear(*facts.objective);
  if (options.law != "stiefel") return fmt::format("HS-03 method.law = {} is not stiefel", options.law);
  if (options.ball == 0) return "HS-04 no projection: method.ball is not set";
  if (options.share == 1) return "HS-05 method.share = 1 in the window: there is no noise across the directions";
  if (options.direction_seed >= 0)
    return "HS-06 method.direction_seed was chosen in advance: records could be made to fit the directions";
  if (options.release == "all") return "HS-07 method.release = all: every iterate is seen";
  if (options.average > 0) return "HS-07 method.average > 0: an average of iterates tells about all of them";
  if (!options.start.empty()) return "HS-08 method.start comes from outside of the run and may depend on records";
  if (options.feature_bound == 0 && (options.declares() ? linear : known))
    return "HS-09 method.feature_bound is not set: the norm of records is not bounded";
  if (linear && is_quantity(facts.objective->label_kind()) && options.label_bound == 0 && options.declares())
    return "HS-09 method.label_bound is not set: labels are not bounded";
  if (options.momentum > 0) return "HS-10 method.momentum > 0: the step is not the map that the proof is about";
  if (options.sampling == "poisson") return "method.sampling = poisson: a batch may be larger than its expectation";
  if (facts.adjacency != Adjacency::replace_one) return "privacy.adjacency is not replace_one";
  if (!facts.ranks_trusted)
    return "privacy.trust = root: ranks see every iterate (privacy.trust = cluster puts them inside the boundary)";
  return {};
}

HiddenSetup set_up(const HiddenOptions& options, const PublicFacts& facts) {
  HiddenSetup s;
  s.records = facts.data.records, s.steps = options.T();
  s.sampling = options.rule(s.records);
  const auto* cyclic = std::get_if<Cyclic>(&s.sampling);
  s.batch = std::holds_alternative<FullBatch>(s.sampling) ? s.records
            : cyclic ? (s.records + cyclic->parts - 1) / cyclic->parts  // the largest part
                     : static_cast<std::uint64_t>(options.batch);
  s.d = real(facts.objective->dim()), s.K = real(options.K());
  check_start(options.start, *facts.objective);
  if (options.law == "stiefel" && s.K > s.d)
    throw ConfigError(
        fmt::format("method.directions = {} orthonormal directions do not fit {} parameters", s.K, s.d));
  s.linear = ProjectedDifferences::linear(*facts.objective);
  s.slack = ProjectedDifferences::slack(options.K()).clip;
  s.length = options.law == "sphere_sqrtd" || options.law == "gauss" ? std::sqrt(s.d) : 1;
  s.R = options.ball > 0 ? options.ball : infinity;
  if (options.hidden())
    if (const auto why = hidden_refusal(options, facts); !why.empty()) refuse(options, facts, why);
  choose_radius(s, options, facts);
  if (options.hidden() && !s.smoothness)
    refuse(options, facts,
           options.declares() ? "HS-01 declared constants need smoothness, lipschitz and i_have_proved_it"
                              : "HS-01 unknown smoothness of this objective");
  choose_rate(s, options);
  s.omega = s.h() * facts.objective->l2 * s.K * s.length * s.length / s.d;
  choose_clip(s, options, facts);
  if (options.hidden()) {
    hide(s, options, facts);
  } else {
    s.f = options.share == HiddenOptions::automatic ? 1 : options.share;
    s.N = s.f < 1 ? s.steps : 0;
  }
  return s;
}

double HiddenSetup::across(std::uint64_t t) const {
  return t + N < steps ? 0 : length * std::sqrt((1 - f) * K / d);
}

double HiddenSetup::along() const { return event || N == 0 ? 1 : std::sqrt(f + (1 - f) * K / d); }

QuerySpec HiddenSetup::query(const PublicFacts& facts, double z) const {
  return {.name = "differences",
          .dim = static_cast<std::size_t>(K),
          .sampling = sampling,
          .bound = {clip},
          .slack = {.clip = slack},
          .noise_multiplier = along() * z,
          .steps = steps,
          .kind = event ? QueryKind{LastIterateRun{*event, rounding}} : ExactSum{},
          .effort = linear ? (K + 1) / 3 : 2 * K / 3,
          .worker_noise = N > 0 && f < 1 ? facts.objective->dim() : 0,
          .worker_random_numbers = static_cast<std::uint64_t>(K * d)};
}

DifferenceRule HiddenSetup::rule(const HiddenOptions& options) const {
  return {.radius = xi,
          .joint = options.joint(),
          .feature_bound = options.feature_bound,
          .label_bound = options.label_bound};
}

}  // namespace dpmpi
