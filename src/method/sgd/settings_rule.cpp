#include "method/sgd/settings_rule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dpmpi {
namespace {

using RateSchedule = OptimizerSettings::Schedule;

// Found on public and made-up records, and on none of the judge's (docs/results/default_settings.md).
constexpr double fewest_steps = 100, usual_steps = 500;  // of a run
constexpr double usual_passes = 40;                      // over the records, at mu = 1 or less
constexpr double noise_of_batch = 3.2;  // T q^2 over mu^2: the noise multiplier is then 1.9 or more
constexpr double most_passes = 125;
constexpr double clip_of_record = 0.5;   // of R: as long as a logistic gradient is at the start
constexpr double clip_of_network = 0.1;  // of R: far below it, so that one step takes the weights nowhere

/// D R / (n signal): how far gradients may move the scores, over what the noise allows.
double score_distance(LabelKind labels) { return is_quantity(labels) ? 1 : 2; }
/// How far one gradient as long as the clip may move the score of a typical record.
double longest_move(const PublicNumbers& facts) {
  if (is_quantity(facts.labels)) return 10;
  return facts.network ? 60 : 300;
}

/// Mean rate of a schedule that ends at 0, over the first one.
double mean_rate(RateSchedule schedule) { return schedule == RateSchedule::constant ? 1 : 0.5; }

/// The budget that decides how steps are cut: 0 where noise does not depend on it.
double budget(const PublicNumbers& facts) {
  return facts.noise_multiplier > 0 || !std::isfinite(facts.mu) ? 0 : facts.mu;
}

/// Share q of the records in a step, for so many passes.
double share_of(double epochs, double mu) {
  const double wanted = noise_of_batch * mu * mu / epochs;
  return std::clamp(wanted, epochs / usual_steps, std::max(epochs / usual_steps, epochs / fewest_steps));
}

/// Passes for steps with a share q of the records.
double passes_of(double q, double mu) {
  const double most = std::min(most_passes, usual_passes * std::max(1.0, mu));
  return std::max(std::min(std::max(usual_steps * q, noise_of_batch * mu * mu / q), most), fewest_steps * q);
}

void settle_steps(const PublicNumbers& facts, const SgdSettings& given, SettledSgd& all) {
  const double n = facts.records, mu = budget(facts);
  const double most = std::min(most_passes, usual_passes * std::max(1.0, mu));
  if (facts.full) {
    all.batch = given.batch.value_or(static_cast<std::int64_t>(n));
    all.epochs = given.epochs.value_or(fewest_steps);
    all.steps = std::ceil(all.epochs);
    return;
  }
  const double q = std::min(1.0, share_of(given.epochs.value_or(most), mu));
  const double batch = std::clamp(two_digits(q * n), 1.0, n);
  all.batch = given.batch.value_or(std::llround(batch));
  const double share = std::min(1.0, static_cast<double>(all.batch) / n);
  all.epochs = given.epochs.value_or(std::ceil(passes_of(share, mu) - 1e-9));
  all.steps = std::max(1.0, std::ceil(all.epochs / share));
}

// By the central limit of Poisson sampling, mu = q sqrt(T (exp(1 / z^2) - 1)) (Bu et al. 2020). A sum of all
// records' gradients T times, over their noise, has q sqrt(T) / z in its place.
void settle_signal(const PublicNumbers& facts, SettledSgd& all) {
  const double q = facts.full ? 1 : std::min(1.0, static_cast<double>(all.batch) / facts.records);
  const double rounds = q * std::sqrt(all.steps);
  if (facts.noise_multiplier > 0) {
    all.signal = rounds / facts.noise_multiplier / facts.sensitivity;
  } else if (!std::isfinite(facts.mu)) {
    all.signal = std::numeric_limits<double>::infinity();
  } else {
    const double ratio = facts.mu / rounds;
    all.efficiency = q < 1 && ratio > 0 ? std::sqrt(std::log1p(ratio * ratio)) / ratio : 1;
    all.signal = facts.mu * all.efficiency / facts.sensitivity;
  }
}

double rate_of(const PublicNumbers& facts, SettledSgd& all) {
  const double length = all.clip * facts.size;
  const double most = longest_move(facts) / length;
  const double by_noise = score_distance(facts.labels) * facts.records * all.signal / (all.steps * length) *
                          (0.5 / mean_rate(all.schedule));
  all.capped = !(by_noise < most);
  return (1 - all.momentum) * (all.capped ? most : by_noise);
}

}  // namespace

SettledSgd settle_sgd(const PublicNumbers& facts, const SgdSettings& given) {
  SettledSgd all;
  settle_steps(facts, given, all);
  settle_signal(facts, all);
  all.clip = given.clip.value_or(two_digits((facts.network ? clip_of_network : clip_of_record) * facts.size));
  all.momentum = given.momentum.value_or(0);
  all.schedule = given.schedule.value_or(RateSchedule::linear);
  all.rate = given.rate.value_or(std::max(two_digits(rate_of(facts, all)), 1e-30));
  return all;
}

}  // namespace dpmpi
