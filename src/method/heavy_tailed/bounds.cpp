#include "method/heavy_tailed/bounds.hpp"

#include <cmath>
#include <numbers>

#include "method/require.hpp"

namespace dpmpi {

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

// Without powers of G_k or the clip alone.
double clip_bias(const HeavyTail& tail, double clip) {
  require_positive("clip", clip);
  return clip_constant(tail.order) * (tail.moment * std::pow(tail.moment / clip, tail.order - 1));
}

double privacy_ratio(const HeavyTailProblem& problem) {
  return std::numbers::sqrt2 * std::sqrt(problem.dim) / (problem.records * problem.mu);
}

}  // namespace dpmpi
