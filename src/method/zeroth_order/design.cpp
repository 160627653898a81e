#include "method/zeroth_order/design.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/strategy.hpp"

namespace dpmpi {

void ZoO2ncSettings::declare(Options& options) {
  outer.declare(options);
  options.add("auto", automatic, "choose T, B1, B2 and K by the bound for the privacy target")
      .add("batch", batch, "records B2 of a difference (0: 64, or chosen with method.auto)",
           Range::closed(0, 0x1p31))
      .add("first_batch", first_batch, "records B1 of a gradient (0: so many that leaf 1 costs no extra noise)",
           Range::closed(0, 0x1p31))
      .add("restart", restart, "steps q after which the running sum starts again with a gradient (0: T)",
           Range::closed(0, 0x1p31))
      .add("skip_last", skip_last, "make no query in the last step of an epoch, which the learner does not use")
      .add_words(
          "directions", scheme, "how the directions of a record are drawn",
          {{"haar", DirectionScheme::haar}, {"iid", DirectionScheme::iid}, {"block", DirectionScheme::block}})
      .add("count", count, "directions m of a record (0: as many as parameters)", Range::at_least(0))
      .add("block", block, "orthonormal directions in a group (directions = block)", Range::at_least(1))
      .add("centre", centre, "subtract the mean of a difference's slopes")
      .add("fast", fast, "use the closed form of haar directions for linear models")
      .add("slope_clip", slope_clip, "bound Lc on slopes along single directions (0: none)", Range::closed(0, 1e20))
      .add("gradient_clip", gradient_clip, "bound C_1 on a record's gradient estimate (0: by the directions)",
           Range::closed(0, 1e20))
      .add("kappa", kappa, "bound kappa L 2 D / delta on a record's difference (0: by the directions)",
           Range::closed(0, 1e20))
      .add("adaptive_clip", adaptive_clip,
           "bound differences by the distance that was travelled, with the noise to match");
  noise.declare(options);
}

void ZoO2ncSettings::validate(std::vector<std::string>& problems) const {
  outer.validate(problems);
  if (restart > 0 && (restart > outer.inner || outer.inner % restart != 0))
    problems.emplace_back("method.restart must divide method.inner");
  if (skip_last && (outer.inner < 2 || (restart > 0 && restart != outer.inner)))
    problems.emplace_back("method.skip_last needs method.inner >= 2 and no method.restart");
  if (automatic && restart > 0) problems.emplace_back("method.auto chooses epochs without method.restart");
  if (automatic && outer.step_radius > 0)
    problems.emplace_back("method.auto is for D = delta / T: leave out method.step_radius");
  if (automatic && (outer.inner != ZoSettings{}.inner || outer.outer > 0 || first_batch > 0))
    problems.emplace_back("method.auto chooses T, B1 and K: leave out method.inner, first_batch and outer");
}

namespace {

Probes probes_of(const ZoO2ncSettings& settings, std::size_t dim) {
  return {.scheme = settings.scheme,
          .count = settings.count > 0 ? whole(settings.count) : dim,
          .block = std::min<std::size_t>(whole(settings.block), dim),
          .radius = settings.outer.radius,
          .centre = settings.centre,
          .scalar_clip = settings.slope_clip,
          .seed = whole(settings.outer.seed),
          .fast = settings.fast};
}

bool goes_fast(const Probes& p, const Objective& objective) {
  return p.fast && p.scheme == DirectionScheme::haar && p.count == objective.dim() && objective.scalar_loss();
}

/// Directions that are orthonormal together.
std::size_t group_of(const Probes& p, std::size_t dim) {
  return p.scheme == DirectionScheme::haar ? dim : p.scheme == DirectionScheme::block ? p.block : 1;
}

// What ZerothOrder and Directions would refuse, under the names of the options, before any record is read.
void check_probes(const Probes& p, bool fast, std::size_t dim) {
  const std::size_t group = group_of(p, dim);
  if (p.centre && p.count < 2)
    throw ConfigError(fmt::format(
        "method.count = {} is not allowed with method.centre = true, which takes at least two directions",
        p.count));
  if (p.count % group != 0)
    throw ConfigError(
        fmt::format("method.count = {} is not allowed with method.directions = {}: orthonormal directions come in "
                    "groups of {} here, so count must be a multiple of that",
                    p.count, p.scheme == DirectionScheme::haar ? "haar" : "block", group));
  if (std::max(p.count, dim) >= std::size_t{1} << 32)
    throw ConfigError(fmt::format("method.count = {} directions of {} parameters, allowed: less than 2^32 of both",
                                  p.count, dim));
  if (group > Directions::largest_group && !fast)
    throw ConfigError(fmt::format(
        "orthonormal groups of {} directions are too large, allowed: {}; set method.directions = block with method.block = 32 to 64",
        group, Directions::largest_group));
}

// By default C_1 = 2 L, which estimates exceed rarely (closed form: L, never), and for differences the bound that
// L-Lipschitz losses obey; of independent directions with overwhelming probability, for the norm of sqrt(d) x m
// random ones concentrates below 2.2 (spec 2.1).
ZoEstimator estimator_of(const ZoO2ncSettings& settings, const Probes& p, bool fast, std::size_t dim) {
  const auto d = static_cast<double>(dim), m = static_cast<double>(p.count);
  const double L = settings.outer.lipschitz;
  ZoEstimator e = ZoEstimator::directions(d, m, static_cast<double>(group_of(p, dim)), L);
  const double few = std::max(1.0, std::sqrt(d / m));
  e.kappa = std::min(e.kappa, 2.2 * std::sqrt(d) * few) * (p.centre ? m / (m - 1) : 1);
  if (settings.kappa > 0) e.kappa = settings.kappa;
  e.gradient_clip = fast ? L : std::min(e.gradient_clip, 2 * L * few);
  if (settings.gradient_clip > 0) e.gradient_clip = settings.gradient_clip;
  return e;
}

// Wide enough for every use, narrow enough that quotients of clips and batches stay ordinary numbers.
void check_clips(const ZoO2ncSettings& settings, const ZoEstimator& e) {
  const auto check = [](const char* what, double clip) {
    if (!(clip >= 1e-25 && clip <= 1e25))
      throw ConfigError(fmt::format("{} is {:.4g}, allowed: 1e-25 to 1e25", what, clip));
  };
  const ZoSettings& outer = settings.outer;
  check("the bound C_1 of a record's gradient (method.gradient_clip, lipschitz)", e.gradient_clip);
  check("the bound C_d of a record's difference (method.kappa * lipschitz * 2 * step_radius / radius)",
        e.kappa * outer.lipschitz * 2 *
            (settings.automatic ? 1 : outer.step_radius_for(whole(outer.inner)) / outer.radius));
}

std::uint64_t leaves_of(const ZoO2ncSettings& settings, const ZoShape& shape) {
  return shape.restart - (settings.skip_last ? 1 : 0);
}

ZoShape best_shape(const ZoO2ncSettings& settings, const ZoProblem& problem, const ZoEstimator& e) {
  std::vector<std::uint64_t> batches;
  for (std::uint64_t b = 1; settings.batch == 0 && real(b) <= problem.dim; b *= 2) batches.push_back(b);
  if (settings.batch > 0) batches.push_back(whole(settings.batch));
  return plan_zo(problem, e, batches).shape;
}

ZoShape given_shape(const ZoO2ncSettings& settings, const ZoProblem& problem, const ZoEstimator& e) {
  const ZoSettings& outer = settings.outer;
  ZoShape s{.inner = whole(outer.inner), .batch = settings.batch > 0 ? whole(settings.batch) : 64};
  s.restart = settings.restart > 0 ? whole(settings.restart) : s.inner;
  const std::uint64_t leaves = leaves_of(settings, s);
  s.first_batch = settings.first_batch > 0
                      ? whole(settings.first_batch)
                      : zo_first_batch(problem, e, leaves, s.batch, outer.step_radius_for(s.inner));
  const std::uint64_t epoch = s.inner / s.restart * (s.first_batch + s.batch * (leaves - 1));
  const auto M = static_cast<std::uint64_t>(problem.records);
  s.outer = outer.outer > 0 ? whole(outer.outer) : M / epoch;
  if (s.outer == 0 || s.outer > M / epoch)
    throw ConfigError(fmt::format(
        "{} epochs of {} ({} + {} * {} in each of {} sums) do not fit n = {}: make "
        "method.inner, batch, first_batch or outer smaller",
        std::max<std::uint64_t>(1, s.outer), epoch, s.first_batch, s.batch, leaves - 1, s.inner / s.restart, M));
  return s;
}

RunningSum running_sum(const ZoO2ncSettings& settings, const ZoDesign& d) {
  const double ratio = (d.C_1 / real(d.shape.first_batch)) / (d.C_d / real(d.shape.batch));
  const bool adaptive = settings.adaptive_clip;
  if (adaptive && ratio > 1 + 1e-9)
    throw ConfigError(
        fmt::format("method.adaptive_clip needs first_batch >= {:.0f}: leaf 1 may weigh no more than a difference",
                    std::ceil(ratio * real(d.shape.first_batch))));
  RunningSum running = settings.noise.settled({.leaves = d.leaves, .dim = static_cast<std::size_t>(d.problem.dim)});
  running.first_clip = adaptive ? std::min(ratio, 1.0) : ratio;
  running.adaptive = adaptive;
  return running;
}

}  // namespace

ZoBound ZoDesign::bound(double sigma) const {
  return zo_bound(problem, estimator, shape, sigma, mean_prefix_noise_variance(tree), D);
}

ZoDesign design_zo_o2nc(const ZoO2ncSettings& settings, const PublicFacts& facts) {
  const Objective& objective = *facts.objective;
  const ZoSettings& outer = settings.outer;
  ZoDesign d;
  d.problem = {.records = real(facts.data.records),
               .dim = static_cast<double>(objective.dim()),
               .lipschitz = outer.lipschitz,
               .radius = outer.radius,
               .gap = outer.gap,
               .rho = facts.rho,
               .change = facts.adjacency == Adjacency::replace_one ? 2.0 : 1.0};
  d.probes = probes_of(settings, objective.dim());
  d.fast = goes_fast(d.probes, objective);
  check_probes(d.probes, d.fast, objective.dim());
  d.estimator = estimator_of(settings, d.probes, d.fast, objective.dim());
  check_clips(settings, d.estimator);

  d.passes = whole(outer.passes);
  ZoProblem of_a_pass = d.problem;
  of_a_pass.rho /= std::sqrt(real(d.passes));
  d.shape = settings.automatic ? best_shape(settings, of_a_pass, d.estimator)
                               : given_shape(settings, of_a_pass, d.estimator);
  outer.check(objective, d.shape.inner, d.shape.outer);
  d.leaves = leaves_of(settings, d.shape);

  d.D = outer.step_radius_for(d.shape.inner);
  d.C_1 = d.estimator.gradient_clip;
  d.C_d = d.estimator.kappa * outer.lipschitz * 2 * d.D / outer.radius;
  d.running = running_sum(settings, d);
  d.tree = tree_of(d.running, d.leaves);
  d.tree.first_leaf = d.running.adaptive ? 1 : d.running.first_clip;
  d.node_multiplier = std::sqrt(squared_sensitivity(d.tree)) * std::sqrt(real(d.passes));
  return d;
}

}  // namespace dpmpi
