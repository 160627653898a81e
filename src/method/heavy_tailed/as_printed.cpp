#include "method/heavy_tailed/as_printed.hpp"

#include <algorithm>
#include <cmath>

#include "method/require.hpp"

namespace dpmpi::printed {

namespace {

void check_budget(double epsilon, double delta) {
  require_positive("epsilon", epsilon);
  require_probability("delta", delta);
}

// The Laplace and Gaussian steps of these proofs use e^epsilon - 1 <= 2 epsilon.
void check_small_budget(double epsilon, double delta) {
  check_budget(epsilon, delta);
  require(epsilon <= 1, "epsilon of the printed calibration", epsilon, "at most 1, where its proof ends");
}

}  // namespace

double zcdp_rho(double epsilon, double delta) {
  check_budget(epsilon, delta);
  const double L = -std::log(delta), root = epsilon / (std::sqrt(L + epsilon) + std::sqrt(L));
  return root * root;
}

ErmSettings erm(const HeavyTailProblem& problem) {
  check(problem);
  const double signal = problem.records * problem.records * problem.rho() / problem.dim;
  const double steps = std::max(problem.records, std::ceil(signal));
  require(steps <= 0x1p62, "method.paper_constants = true: steps", steps, "at most 2^62");
  return {problem.tail.moment * std::pow(25 * signal / 32, 1 / (2 * problem.tail.order)),
          static_cast<std::uint64_t>(steps)};
}

double erm_gap(const HeavyTailProblem& problem, double clip, double lambda, double radius, double bias) {
  check(problem);
  require_positive("lambda", lambda);
  require(problem.records >= 39, "records of a fold", problem.records, "at least 39, where Proposition 1 begins");
  const double m = problem.records;
  return 32 * clip * clip * problem.dim / (lambda * m * m * problem.rho()) + bias * bias / lambda +
         7 * lambda * radius * radius / m;
}

LocalizedPlan localization(const HeavyTailProblem& problem, double failure) {
  check(problem);
  require_probability("failure probability", failure);
  const double most = std::max(1.0, std::floor(std::log2(problem.records)));
  const double J = std::ceil(400 * std::log(most / failure)), m = std::floor(problem.records / J);
  require(m >= 2, "method.paper_constants = true: records of data.train", problem.records,
          fmt::format("at least {}, two in each of the printed folds", 2 * J));
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

double OnePass::exact_noise(std::uint64_t phase) const {
  require_count("phase", static_cast<double>(phase));
  return 2 * eta * clip * std::pow(8, -static_cast<double>(phase)) / mu;
}

double OnePass::noise(std::uint64_t phase) const { return 2 * exact_noise(phase); }

OnePass one_pass(const HeavyTailProblem& p) {
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
  plan.mu = p.mu;
  return plan;
}

SparseVector sparse_vector(double sensitivity, double epsilon, double delta, double hits, double queries) {
  check_small_budget(epsilon, delta);
  require_positive("sensitivity", sensitivity);
  require_count("hits", hits);
  require_count("queries", queries);
  const double scale = 6 * sensitivity / epsilon * std::sqrt(hits * std::log(5 / delta));
  return {scale, scale * std::log(10 * queries / delta)};
}

Smooth smooth(const HeavyTailProblem& p, double epsilon, double delta) {
  check(p);
  check_small_budget(epsilon, delta);
  const HeavyTail& tail = p.tail;
  const double k = tail.order, phases = std::floor(std::log2(p.records)), n = std::exp2(phases), D = p.diameter;
  require(phases >= 1, "records", p.records, "at least 2");
  const double log_term = std::log(15 * n / delta), root_d = std::sqrt(p.dim);
  const double signal = n * epsilon / (120 * root_d * log_term);  // n^2 eps^2 / (14400 d Lg^2) is its square
  Smooth plan;
  plan.eta =
      std::min(std::sqrt(4 / n) * D / tail.second, D * phases / (tail.moment * n) * std::pow(signal, (k - 1) / k));
  plan.clip = 2 * std::pow(std::pow(tail.moment, k) * D * phases * signal * signal / (n * plan.eta), 1 / (k + 1));
  plan.hits = 240 * root_d * log_term / epsilon;
  plan.omega = 18 / epsilon * std::sqrt(2 * plan.hits * std::log(15 / delta));
  const double tests = std::log(30 * n / delta);
  plan.most_smoothness = std::pow(epsilon, 1.5) / (24000 * plan.eta * root_d * tests * tests);
  plan.noise = 30 * plan.clip * plan.eta / 4 * std::sqrt(std::log(3 / delta)) / epsilon;
  return plan;
}

}  // namespace dpmpi::printed
