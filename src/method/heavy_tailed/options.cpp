#include "method/heavy_tailed/options.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/linear/steps.hpp"
#include "privacy/curves/gaussian_curve.hpp"

namespace dpmpi {

void HeavyTailOptions::declare(Options& options) {
  options
      .add("moment", tail.order, "order k of the highest moment that gradient norms are taken to have",
           Range{.low = 1, .high = 100})
      .add("g1", tail.first, "guess of G_1, the mean gradient norm (an upper bound)", Range::closed(1e-12, 1e12))
      .add("g2", tail.second, "guess of G_2, the root of the mean squared gradient norm",
           Range::closed(1e-12, 1e12))
      .add("gk", tail.moment, "guess of G_k, the k-th root of the mean k-th power of the gradient norm",
           Range::closed(1e-12, 1e12))
      .add("radius", radius, "radius of the ball around the start point that results are projected onto",
           Range::closed(1e-12, 1e12));
}

void HeavyTailOptions::validate(std::vector<std::string>& problems) const {
  const bool rising = tail.first <= tail.second && (tail.order < 2 || tail.second <= tail.moment);
  if (!rising)
    problems.push_back(fmt::format("method.g1 = {}, method.g2 = {}, method.gk = {}: moments rise with their order",
                                   tail.first, tail.second, tail.moment));
}

HeavyTailProblem HeavyTailOptions::problem(const PublicFacts& facts) const {
  return {.records = static_cast<double>(facts.data.records),
          .dim = static_cast<double>(facts.objective->dim()),
          .diameter = radius,
          .mu = privacy_target(facts),
          .change = facts.adjacency == Adjacency::add_remove ? 1.0 : 2.0,
          .tail = tail};
}

double privacy_target(const PublicFacts& facts) {
  if (std::isinf(facts.rho))
    throw ConfigError(
        "privacy.noise = none: this method chooses its phases, steps and clips by the privacy target, and has no form "
        "without noise; clipped-gd has one");
  return facts.rho;
}

void check_scalar_link(const PublicFacts& facts, const char* method, Problems& problems) {
  if (has_scalar_link(*facts.objective)) return;
  problems.push_back(
      fmt::format("objective.name: {} is for convex losses of one score <w, x>, whose clamped slopes bound the "
                  "Lipschitz constant: it must be squared, huber, absolute, pinball, logistic, hinge, "
                  "smoothed_hinge or poisson; clipped-gd takes others",
                  method));
}

void check_no_regulariser(const PublicFacts& facts, const char* method, Problems& problems) {
  if (const double l2 = facts.objective->l2; l2 > 0)
    problems.push_back(fmt::format(
        "objective.l2 = {}: {} has no regulariser, it must be 0 (method.radius bounds the model)", l2, method));
}

void check_batch(const PublicFacts& facts, std::int64_t batch, Problems& problems) {
  const std::uint64_t n = facts.data.records;
  if (n < 4)
    problems.push_back(fmt::format("data.train has {} records: a pass in phases needs at least 4", n));
  else if (static_cast<std::uint64_t>(batch) > n / 4)
    problems.push_back(fmt::format(
        "method.batch = {} leaves the first phase, half of {} records, fewer than two steps: it must be at most {}",
        batch, n, n / 4));
}

AlignedVector<float> start_point(const Objective& objective, std::uint64_t seed) {
  AlignedVector<float> x(objective.dim());
  objective.initialise(PublicStream(seed, "start point"), x);
  return x;
}

}  // namespace dpmpi
