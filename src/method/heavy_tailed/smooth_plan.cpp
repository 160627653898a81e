#include "method/heavy_tailed/smooth_plan.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curator/phase_view.hpp"

namespace dpmpi {
double SmoothPlan::slack() const { return std::ranges::min(phases, {}, &SmoothPhase::slack).slack; }

namespace {

// The schedule of a linear model's pass, with the choices in place of the bound's where there are any.
OnePassPlan schedule(const HeavyTailProblem& problem, OnePassRule rule, const SmoothSteps& loss, double guard,
                     const SmoothChoices& choices) {
  if (loss.step_error)
    rule.step_error = [&](double step, double clip, std::uint64_t batch) {
      return loss.step_error(step, (1 + guard) * clip, batch);
    };
  const bool chosen = choices.eta > 0 && choices.clip > 0;
  OnePassPlan plan = chosen ? OnePassPlan() : plan_one_pass(problem, rule);
  if (choices.eta == 0 && choices.clip == 0) return plan;
  if (choices.eta > 0) plan.eta = choices.eta;
  if (choices.clip > 0) plan.clip = choices.clip;
  plan.phases = one_pass_phases(problem, rule, plan.eta, plan.clip);
  if (plan.phases.empty())
    refuse_no_phase(problem, rule, fmt::format("method.rate = {} and method.clip = {}", plan.eta, plan.clip));
  plan.bound = one_pass_bound(problem, rule, plan.phases.size(), plan.eta, plan.clip);
  return plan;
}

double rounding_of(const SmoothSteps& loss, const OnePassPhase& phase, double guard) {
  return loss.step_error
             ? 2 * real(phase.steps) * loss.step_error(phase.step, (1 + guard) * phase.clip, phase.batch)
             : 0;
}

SmoothPlan plan_plain(const HeavyTailProblem& problem, const OnePassRule& rule, const SmoothSteps& loss,
                      const SmoothChoices& choices) {
  const OnePassPlan base = schedule(problem, rule, loss, 0, choices);
  SmoothPlan plan{.eta = base.eta, .clip = base.clip, .rho = problem.mu * problem.mu / 2, .bound = base.bound};
  for (const OnePassPhase& steps : base.phases) {
    SmoothPhase phase{steps};
    const double eta = steps.step / real(steps.batch), limit = loss.contracts ? 2 : 1 / real(steps.steps);
    phase.slack = limit / (steps.step * loss.beta);
    phase.sensitivity = unguarded_sensitivity(problem.change, eta, steps.clip, loss.contracts ? 0 : loss.beta,
                                              steps.batch, steps.steps, rounding_of(loss, steps, 0));
    phase.noise = phase.sensitivity / problem.mu;
    plan.phases.push_back(phase);
  }
  return plan;
}

SmoothPlan plan_guarded(const HeavyTailProblem& problem, const OnePassRule& rule, const SmoothSteps& loss,
                        const SmoothChoices& choices, double rho, const GuardRule& guard) {
  HeavyTailProblem noisy = problem;  // the noise of guarded steps, but for exp(eta beta K)
  noisy.mu = std::sqrt(2 * guard.output_share * rho) / (1 + guard.guard);
  const OnePassPlan base = schedule(noisy, rule, loss, guard.guard, choices);
  SmoothPlan plan{.guarded = true, .eta = base.eta, .clip = base.clip, .rho = rho, .bound = base.bound};
  for (const OnePassPhase& steps : base.phases) {
    SmoothPhase phase{steps};
    const double eta = steps.step / real(steps.batch), rounding = rounding_of(loss, steps, guard.guard);
    const double norms = loss.norm_error ? 2 * loss.norm_error((1 + guard.guard) * steps.clip) : 0;
    phase.hits = choices.hits > 0 ? choices.hits
                                  : enough_hits(real(steps.records), problem.records, problem.tail.order,
                                                problem.tail.moment, steps.clip, guard.guard);
    phase.guard = plan_guarded_phase(real(steps.records), phase.hits, rho, steps.batch, guard);
    phase.sensitivity = phase.guard.sensitivity(eta, steps.clip, loss.beta, rounding);
    phase.noise = phase.guard.noise(eta, steps.clip, loss.beta, rounding);
    phase.test_scale = phase.guard.test_scale(eta, steps.clip, loss.beta, rounding, norms);
    phase.slack = phase.guard.slack(eta, steps.clip, loss.beta, rounding, norms);
    plan.phases.push_back(phase);
  }
  return plan;
}

}  // namespace

SmoothPlan plan_smooth(const HeavyTailProblem& problem, const OnePassRule& rule, const SmoothSteps& loss,
                       const SmoothChoices& choices, SmoothMode mode, double rho, const GuardRule& guard) {
  std::string failed;
  const auto holds = [&](const SmoothPlan& plan, const char* condition) {
    if (plan.slack() < 1) failed += fmt::format("; {}: slack {:.3g}", condition, plan.slack());
    return plan.slack() >= 1;
  };
  if (mode != SmoothMode::guarded)
    if (SmoothPlan plain = plan_plain(problem, rule, loss, choices);
        holds(plain, loss.contracts ? "plain steps, h beta <= 2" : "plain steps, h beta T <= 1"))
      return plain;
  if (mode != SmoothMode::plain)
    if (SmoothPlan guarded = plan_guarded(problem, rule, loss, choices, rho, guard);
        holds(guarded, "guarded steps, theta C >= R log(n_i / (2 t)) and h beta <= 2"))
      return guarded;
  throw ConfigError(
      fmt::format("the proof needs a slack of 1{}. Steps are too long for losses of smoothness {:.4g}: lower "
                  "method.rate, or take clipped-gd or ht-localize, which need no smoothness",
                  failed, loss.beta));
}

SmoothSteps smooth_steps(const RecordGradients& gradients, double radius) {
  const double d = static_cast<double>(gradients.dim()), reach = radius * (1 + 0x1p-20), unit = 0x1p-53;
  const double per_gradient = gradients.gradient_error(reach);
  const auto step_error = [=](double step, double most, std::uint64_t batch) {
    const double lattice = batch > 1 ? std::sqrt(d) / 2 * PhaseView::quantum({most}, batch) : 0;
    const double gradient = (2 * per_gradient + (d + 8) * unit) * std::max(1.0, most) + lattice;
    return 1.01 * step * gradient + ((d / 2 + 8) * reach + 4 * step * most) * unit;
  };
  const auto norm_error = [=](double most) { return 1.01 * (per_gradient + (d + 8) * unit) * std::max(1.0, most); };
  return {gradients.smoothness(), gradients.clipping_contracts(), step_error, norm_error};
}

}  // namespace dpmpi
