#include "method/heavy_tailed/erm.hpp"

#include <algorithm>
#include <cmath>

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/digamma.hpp>

#include "method/require.hpp"

namespace dpmpi {

namespace {

double harmonic(double T) { return boost::math::digamma(T + 1) + boost::math::double_constants::euler; }

double weights(double T) { return T * (T + 7) / 2; }

// Of C^2 + d sigma^2 in the bound.
double gradient_factor(double T, double lambda) { return 4 * (T + 3 * harmonic(T)) / (lambda * weights(T)); }

double steps_for(double wanted) {
  require(wanted <= 0x1p62, "method.steps = 0: steps that the bound asks for", wanted,
          "at most 2^62: set method.steps");
  return std::ceil(std::max(64.0, wanted));
}

void check(const ErmSettings& settings) {
  require_positive("clip", settings.clip);
  require_count("steps", static_cast<double>(settings.steps));
}

}  // namespace

double erm_noise(const HeavyTailProblem& problem, const ErmSettings& settings) {
  check(problem);
  check(settings);
  return problem.change * settings.clip * std::sqrt(static_cast<double>(settings.steps)) /
         (problem.records * problem.mu);
}

double erm_gap(const HeavyTailProblem& problem, const ErmSettings& settings, double lambda, double radius,
               double bias) {
  require_positive("lambda", lambda);
  require_positive("radius", radius);
  require(bias >= 0, "bias", bias, "at least 0");
  const double T = static_cast<double>(settings.steps), sigma = erm_noise(problem, settings);
  return gradient_factor(T, lambda) * (settings.clip * settings.clip + problem.dim * sigma * sigma) +
         bias * bias / lambda + lambda * radius * radius * (T + 3) / (2 * weights(T));
}

namespace {

// With T steps the bound is A C^2 + (kappa_k G_k^k / p)^2 / (lambda C^(2k - 2)).
double best_clip(const HeavyTailProblem& problem, double lambda, const ErmFailures& failures, double T) {
  const double k = problem.tail.order, unit_noise = problem.change * std::sqrt(T) / (problem.records * problem.mu);
  const double A = gradient_factor(T, lambda) * (1 + problem.dim * unit_noise * unit_noise);
  const double bias = clip_constant(k) / failures.bias;
  return problem.tail.moment * std::pow((k - 1) * bias * bias / (lambda * A), 1 / (2 * k));
}

}  // namespace

ErmPlan plan_erm(const HeavyTailProblem& problem, double lambda, const ErmFailures& failures, std::uint64_t steps) {
  check(problem);
  require_positive("lambda", lambda);
  for (const double share : {failures.bias, failures.optimisation, failures.generalisation, failures.total()})
    require_probability("failure probability", share);

  const double m = problem.records, k = problem.tail.order, signal = m * m * problem.rho() / problem.dim;
  ErmPlan plan;
  plan.settings.steps = steps > 0 ? steps : static_cast<std::uint64_t>(steps_for(signal));
  const double share = clip_constant(k) / failures.bias;
  plan.settings.clip = steps > 0 ? best_clip(problem, lambda, failures, static_cast<double>(steps))
                                 : problem.tail.moment * std::pow(share * share * signal / 16, 1 / (2 * k));
  plan.noise = erm_noise(problem, plan.settings);
  plan.bias = clip_bias(problem.tail, plan.settings.clip) / failures.bias;
  plan.gap = erm_gap(problem, plan.settings, lambda, problem.tail.second / lambda, plan.bias);
  plan.radius = std::sqrt(2 * plan.gap / (lambda * failures.optimisation)) +
                2 * problem.tail.second / (lambda * std::sqrt(m * failures.generalisation));
  return plan;
}

}  // namespace dpmpi
