#include "method/heavy_tailed/smooth_phase.hpp"

#include <algorithm>
#include <cmath>

#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/lambert_w.hpp>

#include "core/numbers/real.hpp"
#include "method/require.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/curves/target_charging.hpp"

namespace dpmpi {

namespace {

// t with Phi(-t) = p.
double upper_quantile(double p) { return std::sqrt(2.0) * boost::math::erfc_inv(2 * p); }

void check(const GuardRule& rule) {
  require_positive("budget share of the count", rule.count_share);
  require_positive("budget share of the tests", rule.test_share);
  require_positive("budget share of the output", rule.output_share);
  const double total = rule.count_share + rule.test_share + rule.output_share;
  require(total <= 1 + 1e-12, "sum of the budget shares", total, "at most 1");
  require_positive("guard", rule.guard);
  require_probability("failure probability", rule.failure);
  require(rule.change == 1 || rule.change == 2, "change", rule.change, "1 or 2");
}

// R / C = curvature * change (1 + theta) exp(curvature K) / test_epsilon must leave the guard this much room.
double guard_room(const GuardedPhase& phase) {
  const GuardRule& rule = phase.rule;
  return rule.guard * phase.test_epsilon /
         (rule.change * (1 + rule.guard) * std::log(phase.records / (2 * rule.failure)));
}

}  // namespace

GuardRule GuardRule::for_target(double epsilon, double delta, double change) {
  GuardRule rule;
  rule.change = change;
  // Far above what the draw of the count leaves out: normals have their law up to 10.5 deviations.
  rule.failure = std::clamp(delta / (300 * (1 + std::exp(epsilon))), 1e-19, rule.failure);
  return rule;
}

double GuardedPhase::sensitivity(double eta, double clip, double beta, double rounding) const {
  require_positive("step size", eta);
  require_positive("clip", clip);
  require(std::isfinite(beta) && beta >= 0, "smoothness", beta, "finite and at least 0");
  return (rule.change * (1 + rule.guard) * clip * eta + rounding) * std::exp(eta * beta * real(most_hits));
}

double GuardedPhase::noise(double eta, double clip, double beta, double rounding) const {
  return sensitivity(eta, clip, beta, rounding) / std::sqrt(2 * output_rho);
}

// A draw that is off by 2^-44 under both neighbours, its sum with the norm by less, and chances by a relative
// 2^-52: what a test tells beyond an exact one is below 2^-42.
double GuardedPhase::test_scale(double eta, double clip, double beta, double rounding, double norm_rounding) const {
  require(test_epsilon > 0x1p-32, "privacy.epsilon: what it leaves for one test of a record", test_epsilon,
          "above 2^-32: raise privacy.epsilon or lower method.hits");
  return (beta * sensitivity(eta, clip, beta, rounding) + norm_rounding) / (test_epsilon - 0x1p-42);
}

double GuardedPhase::slack(double eta, double clip, double beta, double rounding, double norm_rounding) const {
  const double scale = test_scale(eta, clip, beta, rounding, norm_rounding);
  return std::min(rule.guard * clip / (scale * std::log(records / (2 * rule.failure))),
                  2 / (real(batch) * eta * beta));
}

GuardedPhase plan_guarded_phase(double records, double hits, double rho, std::uint64_t batch,
                                const GuardRule& rule) {
  check(rule);
  require_count("records of a phase", records);
  require(hits >= 1 && hits <= 0x1p31, "method.hits (0: by method.gk and method.clip): hits that halt a phase",
          hits, "in [1, 2^31]");
  require_positive("rho", rho);
  require(batch >= 1 && real(batch) <= 0x1p31, "batch", real(batch), "in [1, 2^31]");
  GuardedPhase phase;
  phase.records = records;
  phase.batch = batch;
  phase.rule = rule;
  phase.count_noise = 1 / std::sqrt(2 * rule.count_share * rho);
  const double most_hits = std::ceil(hits + phase.count_noise * upper_quantile(rule.failure));
  require(most_hits <= 0x1p31, "privacy.epsilon: method.hits with the noise for it", most_hits,
          "at most 2^31: raise privacy.epsilon");
  phase.most_hits = static_cast<std::uint64_t>(most_hits);
  const ChargedTests charged = charge_tests(phase.most_hits + batch - 1, rule.test_share * rho, rule.failure);
  phase.tests = charged.tests;
  phase.test_epsilon = charged.epsilon;
  phase.output_rho = rule.output_share * rho;
  phase.most_curvature =
      std::min(2 / real(batch), boost::math::lambert_w0(guard_room(phase) * most_hits) / most_hits);
  return phase;
}

double enough_hits(double phase_records, double records, double order, double moment, double clip, double guard) {
  require_count("records of a phase", phase_records);
  require_count("records", records);
  require(std::isfinite(order) && order > 1, "order of the moments", order, "finite and above 1");
  require_positive("G_k", moment);
  require_positive("clip", clip);
  require(guard > 0 && guard < 1, "guard", guard, "in (0, 1)");
  return 2 * phase_records * std::pow(moment / ((1 - guard) * clip), order) + 24 * std::log(records);
}

double guarded_delta(double rho, double epsilon, double failure) {
  return swapped_delta(zcdp_to_delta(rho, epsilon).value, epsilon, 3 * failure);
}

double guarded_rho(double epsilon, double delta, double failure) {
  require_probability("delta", delta);
  require_probability("failure probability", failure);
  if (swapped_delta(0, epsilon, 3 * failure) >= delta)
    throw PrivacyError(fmt::format(
        "privacy.delta = {} at privacy.epsilon = {}: guarded steps, which fail with probability {}, need one above {:.3g}",
        delta, epsilon, 3 * failure, swapped_delta(0, epsilon, 3 * failure)));
  double low = -60, high = 20;  // of log rho
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (guarded_delta(std::exp(middle), epsilon, failure) <= delta ? low : high) = middle;
  }
  return std::exp(low);
}

double unguarded_sensitivity(double change, double eta, double clip, double beta, std::uint64_t batch,
                             std::uint64_t steps, double rounding) {
  require(change == 1 || change == 2, "change", change, "1 or 2");
  require_positive("step size", eta);
  require_positive("clip", clip);
  require(std::isfinite(beta) && beta >= 0, "smoothness", beta, "finite and at least 0");
  require_count("batch", real(batch));
  require_count("steps", real(steps));
  return (change * clip * eta + rounding) * std::exp((real(steps) - 1) * std::log1p(real(batch) * eta * beta));
}

}  // namespace dpmpi
