#include "method/sgd/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"

namespace dpmpi {
namespace {

using Schedule = OptimizerSettings::Schedule;

// Found on public data: docs/theory/default_rates.md.
constexpr double drift = 0.2;        // deviation of a coordinate of w at the end, from noise alone
constexpr double least_bound = 0.5;  // on the rate, of clips that are far above the gradients

/// How far a gradient that is as long as the clip may move w. One over a curvature: a quarter, or that of
/// quantities whose features are correlated.
double longest_step(LabelKind labels) { return is_quantity(labels) ? 0.5 : 4; }

/// Mean square of the rates of a schedule that ends at 0, over the first one's.
double mean_square(Schedule schedule) {
  return schedule == Schedule::linear ? 1.0 / 3 : schedule == Schedule::cosine ? 3.0 / 8 : 1;
}

}  // namespace

void OptimizerSettings::declare(Options& options) {
  options
      .add_words("optimizer", kind, "update rule from the released gradient",
                 {{"sgd", Kind::sgd}, {"adam", Kind::adam}, {"adam_bc", Kind::adam_bc}})
      .add("rate", rate, "learning rate at the start (if not set: one that follows from clip, noise and steps)",
           Range::positive())
      .add_words("schedule", schedule, "how the rate goes from method.rate to method.final_rate over the run",
                 {{"constant", Schedule::constant}, {"linear", Schedule::linear}, {"cosine", Schedule::cosine}})
      .add("final_rate", final_rate, "learning rate at the end of a linear or cosine schedule",
           Range::non_negative())
      .add("momentum", momentum, "heavy-ball momentum (sgd)", {0, 1, false, true})
      .add("beta1", beta1, "decay of the first moment (adam)", {0, 1, false, true})
      .add("beta2", beta2, "decay of the second moment (adam)", {0, 1, false, true})
      .add("stability", stability, "added to the root of the second moment (adam)", Range::positive())
      .add("noise_floor", noise_floor,
           "least second moment that is left when the noise's is taken out, over the noise's variance (adam_bc)",
           {1e-4, 1, false, false})
      .add("average", average,
           "publish an exponential average of the iterates with this decay (0: the last iterate)",
           {0, 1, false, true});
}

void OptimizerSettings::validate(std::vector<std::string>& problems) const {
  if (is_adam() && momentum > 0)
    problems.emplace_back("method.momentum belongs to optimizer = sgd; adam has method.beta1");
  if (schedule != Schedule::constant && rate > 0 && final_rate > rate)
    problems.emplace_back("method.final_rate must not exceed method.rate");
}

OptimizerSettings OptimizerSettings::settled(const PublicSteps& run) const {
  OptimizerSettings all = *this;
  if (kind == Kind::adam_bc) {
    if (!run.step_noise)
      throw ConfigError(
          "method.optimizer = adam_bc belongs to dp-sgd and dp-sgda, where every step has noise of its own, known in "
          "advance; here steps share noise: take adam");
    all.noise_variance = *run.step_noise * *run.step_noise;
  }
  if (rate > 0) return all;
  all.rate = default_rate(run);
  if (schedule != Schedule::constant && final_rate > all.rate)
    throw ConfigError(fmt::format(
        "method.final_rate = {} exceeds the rate at the start, which follows from clip, noise and steps and is {:.6g} "
        "here: give a smaller one, or give method.rate, too",
        final_rate, all.rate));
  return all;
}

// Momentum makes every gradient count 1 / (1 - momentum) times. Steps of adam do not depend on the gradients' size:
// where noise is most of them, T steps move a coordinate by rate sqrt(T), and those of adam_bc by that over the
// root of the floor.
double OptimizerSettings::default_rate(const PublicSteps& run) const {
  const double mean = std::sqrt(mean_square(schedule));
  if (kind == Kind::adam) return drift / std::sqrt(run.steps) / mean;
  if (kind == Kind::adam_bc) {
    const double floor = run.step_noise.value_or(0) > 0 ? noise_floor : 1;  // without noise it is adam
    return drift * std::sqrt(floor / run.steps) / mean;
  }
  const double bound = std::max(longest_step(run.labels) / run.clip, least_bound);
  return (1 - momentum) * std::min(bound, drift / run.noise) / mean;
}

Optimizer::Optimizer(const OptimizerSettings& settings, std::size_t dim, std::uint64_t steps)
    : settings_(settings), steps_(static_cast<double>(std::max<std::uint64_t>(1, steps))) {
  verify(settings.rate > 0, "a rate that settled() has found");
  first_.assign(settings.is_adam() || settings.momentum > 0 ? dim : 0, 0.0f);
  second_.assign(settings.is_adam() ? dim : 0, 0.0f);
  mean_.assign(settings.average > 0 ? dim : 0, 0.0f);
}

double Optimizer::rate_at(std::uint64_t t) const {
  const double progress = static_cast<double>(t) / steps_, rate = settings_.rate, end = settings_.final_rate;
  switch (settings_.schedule) {
    case OptimizerSettings::Schedule::linear:
      return rate + (end - rate) * progress;
    case OptimizerSettings::Schedule::cosine:
      return end + (rate - end) * 0.5 * (1 + portable_cos_pi(progress));
    case OptimizerSettings::Schedule::constant:
      break;
  }
  return rate;
}

// A second moment is that of the gradient and the noise's variance, which is public (Tang, Shpilevskiy and Lecuyer
// 2024). Both numbers below are 0 for plain Adam.
void Optimizer::adam(std::span<float> x, std::span<const float> gradient, float scale, float rate) {
  power1_ *= settings_.beta1, power2_ *= settings_.beta2;
  const auto b1 = static_cast<float>(settings_.beta1), b2 = static_cast<float>(settings_.beta2),
             tiny = static_cast<float>(settings_.stability);
  const auto unbias1 = static_cast<float>(1 / (1 - power1_)), unbias2 = static_cast<float>(1 / (1 - power2_));
  const auto noise = static_cast<float>(settings_.noise_variance),
             least = static_cast<float>(settings_.noise_floor * settings_.noise_variance);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const float g = scale * gradient[j];
    first_[j] = b1 * first_[j] + (1 - b1) * g;
    second_[j] = b2 * second_[j] + (1 - b2) * g * g;
    const float moment = std::max(unbias2 * second_[j] - noise, least);
    x[j] -= rate * (unbias1 * first_[j]) / (std::sqrt(moment) + tiny);
  }
}

void Optimizer::update(std::span<float> x, std::span<const float> gradient, float scale, std::uint64_t t) {
  const std::size_t dim = x.size();
  const auto rate = static_cast<float>(rate_at(t));
  if (settings_.is_adam()) {
    adam(x, gradient, scale, rate);
  } else if (settings_.momentum > 0) {
    const auto m = static_cast<float>(settings_.momentum);
    for (std::size_t j = 0; j < dim; ++j) {
      first_[j] = m * first_[j] + scale * gradient[j];
      x[j] -= rate * first_[j];
    }
  } else {
    for (std::size_t j = 0; j < dim; ++j) x[j] -= rate * (scale * gradient[j]);
  }
  if (settings_.average > 0) {
    // The decay grows with t, so that the start point does not linger in the average.
    const double warm = (1.0 + static_cast<double>(t)) / (10.0 + static_cast<double>(t));
    const auto keep = static_cast<float>(t == 0 ? 0.0 : std::min(settings_.average, warm));
    for (std::size_t j = 0; j < dim; ++j) mean_[j] = keep * mean_[j] + (1 - keep) * x[j];
  }
}

void Optimizer::archive(Archive& archive) {
  archive.field("optimizer.first", first_);
  archive.field("optimizer.second", second_);
  archive.field("optimizer.mean", mean_);
  archive.field("optimizer.power1", power1_);
  archive.field("optimizer.power2", power2_);
}

}  // namespace dpmpi
