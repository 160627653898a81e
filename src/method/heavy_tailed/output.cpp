#include "method/heavy_tailed/output.hpp"

#include <algorithm>
#include <cmath>

#include "method/require.hpp"

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

}  // namespace dpmpi
