#include "method/heavy_tailed/bounds.hpp"

#include <cmath>
#include <numbers>

#include "method/require.hpp"

namespace dpmpi {

namespace {

// G_k^k / clip^(k - 1), without powers of either alone.
double moment_over_clip(const HeavyTail& tail, double clip) {
  require_positive("clip", clip);
  return tail.moment * std::pow(tail.moment / clip, tail.order - 1);
}

}  // namespace

void check(const HeavyTailProblem& problem) {
  require_count("records", problem.records);
  require_count("dim", problem.dim);
  require_positive("diameter", problem.diameter);
  require_positive("mu", problem.mu);
  require(problem.change == 1 || problem.change == 2, "change", problem.change, "1 or 2");
  require(std::isfinite(problem.tail.order) && problem.tail.order > 1, "order of the moments", problem.tail.order,
          "finite and above 1");
  require_positive("G_1", problem.tail.first);
  require_positive("G_2", problem.tail.second);
  require_positive("G_k", problem.tail.moment);
}

double clip_constant(double order) {
  require(std::isfinite(order) && order > 1, "order of the moments", order, "finite and above 1");
  return std::exp((order - 1) * std::log1p(-1 / order)) / order;
}

double clip_bias(const HeavyTail& tail, double clip) {
  return clip_constant(tail.order) * moment_over_clip(tail, clip);
}

double drop_bias(const HeavyTail& tail, double clip) { return moment_over_clip(tail, clip); }

double privacy_ratio(const HeavyTailProblem& problem) {
  return std::numbers::sqrt2 * std::sqrt(problem.dim) / (problem.records * problem.mu);
}

double convex_rate(const HeavyTailProblem& problem) {
  check(problem);
  const HeavyTail& tail = problem.tail;
  return problem.diameter * (tail.second / std::sqrt(problem.records) +
                             tail.moment * std::pow(privacy_ratio(problem), 1 - 1 / tail.order));
}

double strongly_convex_rate(const HeavyTailProblem& problem, double convexity) {
  check(problem);
  require_positive("strong convexity", convexity);
  const HeavyTail& tail = problem.tail;
  return (tail.second * tail.second / problem.records +
          tail.moment * tail.moment * std::pow(privacy_ratio(problem), 2 - 2 / tail.order)) /
         convexity;
}

}  // namespace dpmpi
