#include "method/heavy_tailed/one_pass_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "core/numbers/real.hpp"
#include "method/heavy_tailed/posynomial.hpp"
#include "method/require.hpp"
#include "privacy/curator/phase_view.hpp"

namespace dpmpi {

namespace {

std::uint64_t whole_records(const HeavyTailProblem& problem) {
  require(problem.records <= 0x1p60, "records", problem.records, "at most 2^60");
  return static_cast<std::uint64_t>(problem.records);
}

std::uint64_t most_phases(const HeavyTailProblem& problem, const OnePassRule& rule) {
  const auto bits = static_cast<std::uint64_t>(std::bit_width(whole_records(problem)) - 1);
  if (rule.phases > 0) return std::min(rule.phases, std::max<std::uint64_t>(bits, 1));
  return bits > 5 ? bits - 4 : 1;
}

void check(const OnePassRule& rule) {
  require(rule.clip_growth >= 1, "growth of the clip", rule.clip_growth, "at least 1");
  require(std::isfinite(rule.step_fall) && rule.step_fall > 2 * rule.clip_growth * rule.clip_growth,
          "fall of the step size", rule.step_fall, "above twice the squared growth of the clip");
  require_count("batch", real(rule.batch));
}

bool precise(const OnePassPhase& phase, double rounding, double reach) {
  const double ulp = std::nextafter(reach, infinity) - reach;
  return rounding <= 0.01 * (phase.sensitivity - rounding) && (reach == 0 || phase.noise >= 0x1p20 * ulp);
}

// In (log eta, log C).
std::vector<Monomial> terms(const HeavyTailProblem& p, const OnePassRule& rule, std::uint64_t phases) {
  const double a = rule.step_fall, b = rule.clip_growth, k = p.tail.order, unit = p.change / p.mu;
  double steps = 0, biases = 0, noises = 0, eta = 1, clip = 1;
  for (std::uint64_t i = 1; i <= phases; ++i, eta /= a, clip *= b) {
    steps += eta;
    biases += std::pow(clip, 1 - k);
    if (i == phases) break;
    const double next_records = std::ldexp(p.records, -static_cast<int>(i) - 1);
    noises += eta * clip * clip * a / (2 * next_records);
  }
  const double last = std::pow(b / a, real(phases) - 1);
  std::vector<Monomial> list = {
      {std::log(p.diameter * p.diameter / p.records), {-1, 0}},
      {std::log(p.tail.second * p.tail.second / 2 * steps), {1, 0}},
      {std::log(clip_constant(k) * p.diameter * biases) + k * std::log(p.tail.moment), {0, 1 - k}},
      {std::log(p.tail.first * unit * std::sqrt(p.dim) * last), {1, 1}}};
  if (noises > 0) list.push_back({std::log(unit * unit * p.dim * noises), {1, 2}});
  return list;
}

}  // namespace

std::vector<OnePassPhase> one_pass_phases(const HeavyTailProblem& problem, const OnePassRule& rule, double eta,
                                          double clip) {
  check(problem);
  check(rule);
  require_positive("step size", eta);
  require_positive("clip", clip);
  std::vector<OnePassPhase> phases;
  std::uint64_t first = 0;
  for (std::uint64_t i = 1; i <= most_phases(problem, rule); ++i, eta /= rule.step_fall, clip *= rule.clip_growth) {
    OnePassPhase phase;
    phase.first = first;
    phase.records = whole_records(problem) >> i;
    phase.batch = std::min(rule.batch, std::max<std::uint64_t>(phase.records, 1));
    phase.steps = phase.records / phase.batch;
    phase.step = real(phase.batch) * eta;
    phase.clip = clip;
    const double error = rule.step_error ? rule.step_error(phase.step, clip, phase.batch) : 0;
    const double rounding = 2 * real(phase.steps) * error;
    phase.sensitivity = problem.change * eta * clip + rounding;
    phase.noise = phase.sensitivity / problem.mu;
    if (phase.steps < 2 || !precise(phase, rounding, rule.reach)) break;
    phases.push_back(phase);
    first += phase.records;
  }
  return phases;
}

double one_pass_bound(const HeavyTailProblem& problem, const OnePassRule& rule, std::uint64_t phases, double eta,
                      double clip) {
  check(problem);
  check(rule);
  require_positive("step size", eta);
  require_positive("clip", clip);
  require_count("phases", real(phases));
  return posynomial(terms(problem, rule, phases), {std::log(eta), std::log(clip)});
}

void refuse_no_phase(const HeavyTailProblem& problem, const OnePassRule& rule, std::string_view steps) {
  const double most = std::floor(problem.records / 4);  // phase 1 has half of them, in two steps
  require(real(rule.batch) <= most, "method.batch", real(rule.batch),
          fmt::format("at most {}, a quarter of the records", most));
  throw ConfigError(fmt::format(
      "method.radius = {}: doubles of that size cannot hold a phase's noise for mu = {:.3g}, which must "
      "be 2^20 times their spacing and 100 times all rounding: method.radius or privacy.epsilon must be smaller, or {} larger",
      rule.reach, problem.mu, steps));
}

OnePassPlan plan_one_pass(const HeavyTailProblem& problem, const OnePassRule& rule) {
  check(problem);
  check(rule);
  const HeavyTail& tail = problem.tail;
  const LogPoint start = {std::log(problem.diameter / (tail.second * std::sqrt(problem.records))),
                          std::log(tail.moment) - std::log(privacy_ratio(problem)) / tail.order};
  for (OnePassRule tried = rule;;) {
    const std::uint64_t phases = tried.phases = most_phases(problem, tried);
    const auto list = terms(problem, tried, phases);
    const LogPoint best = least_posynomial(list, start);
    OnePassPlan plan{std::exp(best[0]), std::exp(best[1]), {}, posynomial(list, best)};
    plan.phases = one_pass_phases(problem, tried, plan.eta, plan.clip);
    if (plan.phases.size() == phases) return plan;
    if (plan.phases.empty()) refuse_no_phase(problem, rule);
    tried.phases = plan.phases.size();
  }
}

Lattice lattice_of_batch(double cap, std::uint64_t batch) {
  return {-std::ilogb(PhaseView::quantum({cap}, batch))};
}

std::function<double(double, double, std::uint64_t)> clamped_step_error(const Objective& objective, StepMode mode,
                                                                        double radius) {
  return [&objective, mode, reach = radius * (1 + 0x1p-20), errors = std::make_shared<ClampedSteps>(objective)](
             double step, double clip, std::uint64_t batch) {
    const double cap = step * clip, d = static_cast<double>(objective.dim());
    return errors->error({mode, step}, reach, cap, lattice_of_batch(cap, batch)) +
           ((d / 2 + 8) * reach + 4 * cap) * 0x1p-53;
  };
}

std::uint64_t largest_batch(double eta, double smoothness) {
  require_positive("step size", eta);
  require_positive("smoothness", smoothness);
  return static_cast<std::uint64_t>(std::clamp(1 / (2 * smoothness * eta), 1.0, 0x1p62));
}

}  // namespace dpmpi
