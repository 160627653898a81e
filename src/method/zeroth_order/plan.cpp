#include "method/zeroth_order/plan.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/strategy.hpp"

namespace dpmpi {
namespace {

Strategy strategy_named(const std::string& text) {
  for (const auto s : {Strategy::full_honaker, Strategy::sqrt_toeplitz, Strategy::banded})
    if (text == name(s)) return s;
  return Strategy::fenwick;
}

}  // namespace

ZoBound ZoDesign::bound(double sigma) const {
  return zo_bound(problem, estimator, shape, sigma, mean_prefix_noise_variance(tree), D);
}

void ZoDesignOptions::declare(Options& options) {
  outer.declare(options);
  options.add("auto", auto_, "choose T, B1, B2 and K by the bound for the privacy target")
      .add("batch", batch_, "records B2 of a difference (0: 64, or chosen with method.auto)",
           Range::closed(0, 0x1p31))
      .add("first_batch", first_batch_, "records B1 of a gradient (0: so many that leaf 1 costs no extra noise)",
           Range::closed(0, 0x1p31))
      .add("restart", restart_, "steps q after which the running sum starts again with a gradient (0: T)",
           Range::closed(0, 0x1p31))
      .add("skip_last", skip_last_, "make no query in the last step of an epoch, which the learner does not use")
      .add("directions", scheme_, "how the directions of a record are drawn", {"haar", "iid", "block"})
      .add("count", count_, "directions m of a record (0: as many as parameters)", Range::at_least(0))
      .add("block", block_, "orthonormal directions in a group (directions = block)", Range::at_least(1))
      .add("centre", centre_, "subtract the mean of a difference's slopes")
      .add("fast", fast_, "use the closed form of haar directions for linear models")
      .add("slope_clip", slope_clip_, "bound Lc on slopes along single directions (0: none)",
           Range::closed(0, 1e20))
      .add("gradient_clip", gradient_clip_, "bound C_1 on a record's gradient estimate (0: by the directions)",
           Range::closed(0, 1e20))
      .add("kappa", kappa_, "bound kappa L 2 D / delta on a record's difference (0: by the directions)",
           Range::closed(0, 1e20))
      .add("adaptive_clip", adaptive_clip_,
           "bound differences by the distance that was travelled, with the noise to match")
      .add("strategy", strategy_, "correlation of the noise of running sums",
           {"fenwick", "full_honaker", "sqrt_toeplitz", "banded"})
      .add("band", band_, "diagonals of strategy = banded", Range::at_least(1));
}

void ZoDesignOptions::validate(std::vector<std::string>& problems) const {
  outer.validate(problems);
  if (restart_ > 0 && (restart_ > outer.inner || outer.inner % restart_ != 0))
    problems.emplace_back("method.restart must divide method.inner");
  if (skip_last_ && (outer.inner < 2 || (restart_ > 0 && restart_ != outer.inner)))
    problems.emplace_back("method.skip_last needs method.inner >= 2 and no method.restart");
  if (auto_ && restart_ > 0) problems.emplace_back("method.auto chooses epochs without method.restart");
  if (auto_ && outer.step_radius > 0)
    problems.emplace_back("method.auto is for D = delta / T: leave out method.step_radius");
  if (auto_ && (outer.inner != ZoOptions{}.inner || outer.outer > 0 || first_batch_ > 0))
    problems.emplace_back("method.auto chooses T, B1 and K: leave out method.inner, first_batch and outer");
}

// What ZerothOrder and Directions would refuse, under the names of the options, before any record is read.
void ZoDesignOptions::check_probes(const Objective& objective) const {
  const Probes p = probes(objective);
  const std::size_t d = objective.dim(), group = scheme_ == "haar" ? d : scheme_ == "block" ? p.block : 1;
  if (p.centre && p.count < 2)
    throw ConfigError(fmt::format(
        "method.count = {} is not allowed with method.centre = true, which takes at least two directions",
        p.count));
  if (p.count % group != 0)
    throw ConfigError(
        fmt::format("method.count = {} is not allowed with method.directions = {}: orthonormal directions come in "
                    "groups of {} here, so count must be a multiple of that",
                    p.count, scheme_, group));
  if (std::max(p.count, d) >= std::size_t{1} << 32)
    throw ConfigError(
        fmt::format("method.count = {} directions of {} parameters, allowed: less than 2^32 of both", p.count, d));
  if (group > Directions::largest_group && !fast(objective))
    throw ConfigError(fmt::format(
        "orthonormal groups of {} directions are too large, allowed: {}; set method.directions = block with method.block = 32 to 64",
        group, Directions::largest_group));
}

Probes ZoDesignOptions::probes(const Objective& objective) const {
  const auto scheme = scheme_ == "haar"  ? DirectionScheme::haar
                      : scheme_ == "iid" ? DirectionScheme::iid
                                         : DirectionScheme::block;
  return {.scheme = scheme,
          .count = count_ > 0 ? whole(count_) : objective.dim(),
          .block = std::min<std::size_t>(whole(block_), objective.dim()),
          .radius = outer.radius,
          .centre = centre_,
          .scalar_clip = slope_clip_,
          .seed = whole(outer.seed),
          .fast = fast_};
}

bool ZoDesignOptions::fast(const Objective& objective) const {
  return fast_ && scheme_ == "haar" && probes(objective).count == objective.dim() && objective.scalar_loss();
}

// By default C_1 = 2 L, which estimates exceed rarely (closed form: L, never), and for differences the bound that
// L-Lipschitz losses obey; of independent directions with overwhelming probability, for the norm of sqrt(d) x m
// random ones concentrates below 2.2 (spec 2.1).
ZoEstimator ZoDesignOptions::estimator(const Objective& objective) const {
  const auto d = static_cast<double>(objective.dim());
  const Probes p = probes(objective);
  const auto m = static_cast<double>(p.count);
  const double group = scheme_ == "haar" ? d : scheme_ == "block" ? static_cast<double>(p.block) : 1;
  ZoEstimator e = ZoEstimator::directions(d, m, group, outer.lipschitz);
  const double few = std::max(1.0, std::sqrt(d / m));
  e.kappa = std::min(e.kappa, 2.2 * std::sqrt(d) * few) * (centre_ ? m / (m - 1) : 1);
  if (kappa_ > 0) e.kappa = kappa_;
  e.gradient_clip = fast(objective) ? outer.lipschitz : std::min(e.gradient_clip, 2 * outer.lipschitz * few);
  if (gradient_clip_ > 0) e.gradient_clip = gradient_clip_;
  return e;
}

ZoShape ZoDesignOptions::shape(const ZoProblem& problem, const ZoEstimator& e) const {
  if (auto_) {
    std::vector<std::uint64_t> batches;
    for (std::uint64_t b = 1; batch_ == 0 && real(b) <= problem.dim; b *= 2) batches.push_back(b);
    if (batch_ > 0) batches.push_back(whole(batch_));
    return plan_zo(problem, e, batches).shape;
  }
  ZoShape s{.inner = whole(outer.inner), .batch = batch_ > 0 ? whole(batch_) : 64};
  s.restart = restart_ > 0 ? whole(restart_) : s.inner;
  const std::uint64_t leaves = s.restart - (skip_last_ ? 1 : 0);
  s.first_batch = first_batch_ > 0 ? whole(first_batch_)
                                   : zo_first_batch(problem, e, leaves, s.batch, outer.step_radius_for(s.inner));
  const std::uint64_t epoch = s.inner / s.restart * (s.first_batch + s.batch * (leaves - 1));
  const auto M = static_cast<std::uint64_t>(problem.records);
  s.outer = outer.outer > 0 ? whole(outer.outer) : M / epoch;
  if (s.outer == 0 || s.outer > M / epoch)
    throw ConfigError(fmt::format(
        "{} epochs of {} records ({} + {} * {} in each of {} sums) do not fit {} records: make "
        "method.inner, batch, first_batch or outer smaller",
        std::max<std::uint64_t>(1, s.outer), epoch, s.first_batch, s.batch, leaves - 1, s.inner / s.restart, M));
  return s;
}

// Wide enough for every use, narrow enough that quotients of clips and batches stay ordinary numbers.
void ZoDesignOptions::check_clips(const ZoEstimator& e) const {
  const auto check = [](const char* what, double clip) {
    if (!(clip >= 1e-25 && clip <= 1e25))
      throw ConfigError(fmt::format("{} is {:.4g}, allowed: 1e-25 to 1e25", what, clip));
  };
  check("the bound C_1 of a record's gradient (method.gradient_clip, lipschitz)", e.gradient_clip);
  check("the bound C_d of a record's difference (method.kappa * lipschitz * 2 * step_radius / radius)",
        e.kappa * outer.lipschitz * 2 * (auto_ ? 1 : outer.step_radius_for(whole(outer.inner)) / outer.radius));
}

ZoDesign ZoDesignOptions::complete(const ZoProblem& problem, const ZoEstimator& e, const ZoShape& s) const {
  ZoDesign d{.problem = problem, .estimator = e, .shape = s};
  d.leaves = s.restart - (skip_last_ ? 1 : 0);
  d.D = outer.step_radius_for(s.inner);
  d.C_1 = e.gradient_clip;
  d.C_d = e.kappa * outer.lipschitz * 2 * d.D / outer.radius;
  const double ratio = (d.C_1 / real(s.first_batch)) / (d.C_d / real(s.batch));
  if (adaptive_clip_ && ratio > 1 + 1e-9)
    throw ConfigError(
        fmt::format("method.adaptive_clip needs first_batch >= {:.0f}: leaf 1 may weigh no more than a difference",
                    std::ceil(ratio * real(s.first_batch))));
  d.running = {.strategy = strategy_named(strategy_),
               .band = strategy_ == "banded" ? std::min(whole(band_), d.leaves) : 0,
               .first_clip = adaptive_clip_ ? std::min(ratio, 1.0) : ratio,
               .adaptive = adaptive_clip_};
  d.tree = {d.running.strategy, d.leaves, 1, d.running.band, adaptive_clip_ ? 1 : d.running.first_clip};
  return d;
}

ZoDesign ZoDesignOptions::design(const PublicFacts& facts) const {
  const ZoProblem problem{.records = real(facts.data.records),
                          .dim = static_cast<double>(facts.objective->dim()),
                          .lipschitz = outer.lipschitz,
                          .radius = outer.radius,
                          .gap = outer.gap,
                          .rho = facts.rho,
                          .change = facts.adjacency == Adjacency::replace_one ? 2.0 : 1.0};
  check_probes(*facts.objective);
  const ZoEstimator e = estimator(*facts.objective);
  check_clips(e);
  ZoProblem of_a_pass = problem;
  of_a_pass.rho /= std::sqrt(static_cast<double>(outer.passes));
  const ZoShape s = shape(of_a_pass, e);
  outer.check(*facts.objective, s.inner, s.outer);
  return complete(problem, e, s);
}

ZoDesign ZoDesignOptions::design(const Query& query, const Objective& objective) const {
  const auto& order = std::get<Shuffled>(query.sampling);
  const std::uint64_t T = auto_ ? order.leaves + (skip_last_ ? 1 : 0) : whole(outer.inner);
  const std::uint64_t q = restart_ > 0 ? whole(restart_) : T;
  const ZoProblem problem{.records = real(query.records),
                          .dim = static_cast<double>(query.dim),
                          .lipschitz = outer.lipschitz,
                          .radius = outer.radius,
                          .gap = outer.gap,
                          .change = query.adjacency == Adjacency::replace_one ? 2.0 : 1.0};
  return complete(problem, estimator(objective), {T, q, order.first, order.batch, order.runs / (T / q)});
}

double ZoDesignOptions::node_multiplier(const ZoDesign& design) const {
  return std::sqrt(squared_sensitivity(design.tree)) * std::sqrt(static_cast<double>(outer.passes));
}

}  // namespace dpmpi
