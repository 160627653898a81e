#include "method/heavy_tailed/localization.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/digamma.hpp>

#include "core/errors.hpp"
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

namespace {

// The terms of the bound that are divided by lambda.
double solver_terms(const HeavyTailProblem& problem, const LocalizationRule& rule, double Delta,
                    std::uint64_t phases) {
  check(problem);
  require(std::isfinite(rule.a) && rule.a > 1, "a", rule.a, "finite and above 1");
  require(std::isfinite(rule.b) && rule.b >= 1, "b", rule.b, "finite and at least 1");
  require(std::isfinite(Delta) && Delta >= 0, "Delta", Delta, "finite and at least 0");
  require_count("phases", static_cast<double>(phases));
  const double ratio = rule.b * rule.b / rule.a;
  double sum = 0, term = 1;
  for (std::uint64_t i = 1; i < phases && term > 0; ++i) sum += term *= ratio;
  return problem.tail.first * Delta * std::pow(rule.b / rule.a, static_cast<double>(phases)) +
         rule.a / 2 * Delta * Delta * sum;
}

}  // namespace

double localization_bound(const HeavyTailProblem& problem, const LocalizationRule& rule, double Delta,
                          double lambda, std::uint64_t phases) {
  const double solver = solver_terms(problem, rule, Delta, phases);
  require_positive("lambda", lambda);
  return solver / lambda + rule.a * lambda * problem.diameter * problem.diameter / 2;
}

double localization_lambda(const HeavyTailProblem& problem, const LocalizationRule& rule, double Delta,
                           std::uint64_t phases) {
  require_positive("Delta", Delta);
  return std::sqrt(solver_terms(problem, rule, Delta, phases) * 2 / rule.a) / problem.diameter;
}

std::uint64_t localization_phases(const LocalizationRule& rule, double fold_records) {
  require(std::isfinite(rule.b) && rule.b >= 1, "b", rule.b, "finite and at least 1");
  require_count("records", fold_records);
  std::uint64_t phases = 1;
  for (double reach = 2 * rule.b; reach * reach < fold_records; reach *= 2 * rule.b) ++phases;
  return phases;
}

double localization_bound(const HeavyTailProblem& problem, const std::vector<double>& errors,
                          const std::vector<double>& lambda) {
  check(problem);
  verify(!errors.empty() && errors.size() == lambda.size(), "one error and one lambda per phase");
  double bound =
      lambda.front() * problem.diameter * problem.diameter / 2 + problem.tail.first * errors.back() / lambda.back();
  for (std::size_t i = 1; i < errors.size(); ++i) {
    const double distance = errors[i - 1] / lambda[i - 1];
    bound += lambda[i] * distance * distance / 2;
  }
  return bound;
}

namespace {

// The least cost of phases i, ..., I, given lambda_i, is K_i / lambda_i: K_I = G_1 r_I, and the minimum of
// lambda_(i+1) r_i^2 / (2 lambda_i^2) + K_(i+1) / lambda_(i+1) is at lambda_(i+1) = lambda_i sqrt(2 K_(i+1)) / r_i,
// so K_i = r_i sqrt(2 K_(i+1)).
std::vector<double> best_lambdas(const HeavyTailProblem& problem, const std::vector<double>& errors) {
  std::vector<double> cost(errors.size()), lambda(errors.size());
  cost.back() = problem.tail.first * errors.back();
  for (std::size_t i = errors.size() - 1; i-- > 0;) cost[i] = errors[i] * std::sqrt(2 * cost[i + 1]);
  lambda.front() = std::sqrt(2 * cost.front()) / problem.diameter;
  for (std::size_t i = 1; i < errors.size(); ++i)
    lambda[i] = lambda[i - 1] * std::sqrt(2 * cost[i]) / errors[i - 1];
  return lambda;
}

}  // namespace

LocalizationPlan plan_localization(const HeavyTailProblem& problem, std::uint64_t most_phases,
                                   const std::function<double(double records)>& error, std::uint64_t least_phases) {
  check(problem);
  require_count("phases", static_cast<double>(most_phases));
  LocalizationPlan best;
  for (std::uint64_t phases = std::max<std::uint64_t>(least_phases, 1); phases <= most_phases; ++phases) {
    LocalizationPlan plan;
    std::vector<double> errors;
    for (std::uint64_t i = 1; i <= phases; ++i) {
      const double share =
          std::ldexp(1 / -std::expm1(-static_cast<double>(phases) * std::log(2.0)), -static_cast<int>(i));
      plan.records.push_back(std::floor(problem.records * share));
      if (plan.records.back() < 1) return best;
      errors.push_back(error(plan.records.back()));
      require_positive("error of a phase", errors.back());
    }
    plan.lambda = best_lambdas(problem, errors);
    plan.bound = localization_bound(problem, errors, plan.lambda);
    if (best.records.empty() || plan.bound < best.bound) best = plan;
  }
  return best;
}

namespace {

HeavyTailProblem fold_of(const HeavyTailProblem& problem, double records) {
  HeavyTailProblem fold = problem;
  fold.records = records;
  return fold;
}

}  // namespace

LocalizedPlan plan_localized_erm(const HeavyTailProblem& problem, std::uint64_t folds, std::uint64_t most_phases,
                                 const ErmFailures& failures, std::uint64_t steps, std::uint64_t least_phases) {
  const double J = static_cast<double>(folds), aggregation = folds > 1 ? 3 : 1;
  require(problem.records >= 2, "records at hand (data.records, or those of data.train)", problem.records,
          "at least 2");
  require(
      folds >= 1 && J * 2 <= problem.records, "method.folds (0: as many as method.fail_prob asks for)", J,
      fmt::format("in [1, {}]: half of the {} records at hand", std::floor(problem.records / 2), problem.records));
  require(problem.records <= 0x1p60, "records", problem.records, "at most 2^60");
  const auto error = [&](double records) {  // lambda times the radius is the same for every lambda
    const double fold_records = std::max(1.0, std::floor(records / J));
    return aggregation * plan_erm(fold_of(problem, fold_records), 1, failures, steps).radius;
  };
  const auto fitting = static_cast<std::uint64_t>(std::log2(problem.records / J));
  const std::uint64_t most = std::min(most_phases, fitting);
  const LocalizationPlan outer = plan_localization(problem, most, error, std::min(least_phases, most));
  LocalizedPlan plan{folds, {}, outer.bound};
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < outer.lambda.size(); ++i) {
    const double fold_records = std::floor(outer.records[i] / J), lambda = outer.lambda[i];
    plan.phases.push_back({first, static_cast<std::uint64_t>(fold_records), lambda,
                           plan_erm(fold_of(problem, fold_records), lambda, failures, steps)});
    first += folds * plan.phases.back().fold_records;
  }
  return plan;
}

}  // namespace dpmpi
