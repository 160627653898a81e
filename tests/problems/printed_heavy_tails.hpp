#pragma once
// Settings and noise as Asi, Liu and Tian print them, for tests. Their Algorithm 7 is not private; see
// docs/methods/heavy-tailed.md for each difference.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "method/heavy_tailed/bounds.hpp"
#include "method/heavy_tailed/localization.hpp"
#include "method/require.hpp"

namespace dpmpi::printed {

/// Algorithm 1 in Theorem 1: T = max(m, m^2 rho / d), C = G_k (25 m^2 rho / (32 d))^(1 / (2k)).
inline ErmSettings erm(const HeavyTailProblem& problem) {
  check(problem);
  const double signal = problem.records * problem.records * problem.rho() / problem.dim;
  const double steps = std::max(problem.records, std::ceil(signal));
  require(steps <= 0x1p62, "printed steps", steps, "at most 2^62");
  return {problem.tail.moment * std::pow(25 * signal / 32, 1 / (2 * problem.tail.order)),
          static_cast<std::uint64_t>(steps)};
}

/// Algorithms 1 to 3 in Theorem 1: I = log2(n / J) phases, J = 400 log(I / failure) folds of m 2^-i records, m = n
/// / J, and lambda_i = 32^i lambda, with the lambda that suits a solver within 107 (G_k r_m^(1 - 1/k) + G_2 /
/// sqrt(m)) / lambda. No bound: Proposition 2 is wrong. Throws ConfigError where a fold has no record.
inline LocalizedPlan localization(const HeavyTailProblem& problem, double failure) {
  check(problem);
  require_probability("failure probability", failure);
  const double most = std::max(1.0, std::floor(std::log2(problem.records)));
  const double J = std::ceil(400 * std::log(most / failure)), m = std::floor(problem.records / J);
  require(m >= 2, "records", problem.records, fmt::format("at least {}, two in each of the printed folds", 2 * J));
  const auto phases = static_cast<std::uint64_t>(std::log2(m));
  const LocalizationRule rule{32, 4};
  double Delta = 0;
  LocalizedPlan plan{static_cast<std::uint64_t>(J), {}, 0};
  std::uint64_t first = 0;
  for (std::uint64_t i = 1; i <= phases; ++i) {
    HeavyTailProblem fold = problem;
    fold.records = std::floor(std::ldexp(m, -static_cast<int>(i)));
    const HeavyTail& tail = fold.tail;
    const double error = 107 * (tail.moment * std::pow(privacy_ratio(fold), 1 - 1 / tail.order) +
                                tail.second / std::sqrt(fold.records));
    Delta = std::max(Delta, 3 * error / std::pow(rule.b, static_cast<double>(i)));
    ErmPlan solver;
    solver.settings = erm(fold);
    solver.noise = erm_noise(fold, solver.settings);
    plan.phases.push_back(
        {first, static_cast<std::uint64_t>(fold.records), std::pow(rule.a, static_cast<double>(i)), solver});
    first += plan.folds * plan.phases.back().fold_records;
  }
  const double lambda = localization_lambda(problem, rule, Delta, phases);
  for (LocalizedPhase& phase : plan.phases) phase.lambda *= lambda;
  return plan;
}

/// Algorithm 8 and Theorem 4.
struct OnePass {
  double eta = 0, clip = 0;    ///< eta_i = eta / 16^i, C_i = 2^i C, i >= 1
  double most_smoothness = 0;  ///< of every loss, that the proof of privacy needs
  double bound = 0;            ///< that its proof supports, with constants
};
inline OnePass one_pass(const HeavyTailProblem& p) {
  check(p);
  const HeavyTail& tail = p.tail;
  const double k = tail.order, n = std::exp2(std::floor(std::log2(p.records))), rho = p.rho(), D = p.diameter;
  const double private_eta = std::pow(n * n * rho / (32 * p.dim), (k - 1) / (2 * k)) *
                             std::exp2((k + 1) / (2 * k)) * D / (tail.moment * n);
  OnePass plan;
  plan.eta = std::min(std::sqrt(8 / n) * D / tail.second, private_eta);
  plan.clip = std::pow(std::pow(tail.moment, k) * D * rho * n / (32 * plan.eta * p.dim), 1 / (k + 1));
  plan.most_smoothness = std::max(std::sqrt(n / 2) * tail.second / D,
                                  n * std::pow(p.dim / (n * n * rho), (k - 1) / (2 * k)) * tail.moment / D);
  const double r = std::sqrt(p.dim / rho) / n;
  plan.bound = 5.76 * tail.second * D / std::sqrt(n) +
               (16 * std::exp2(2 - 3 / k) + 5 * std::pow(8, 1 - 1 / k)) * tail.moment * D * std::pow(r, 1 - 1 / k);
  return plan;
}

}  // namespace dpmpi::printed
