#pragma once
// First-order updates from a released mean gradient: all of it post-processing, which costs no privacy.
// Only + - * / and sqrt of values that are the same on every rank, so that iterates stay identical everywhere.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/aligned.hpp"
#include "core/files/archive.hpp"
#include "core/options.hpp"
#include "data/records/records.hpp"

namespace dpmpi {

/// What is public about the steps of a run.
struct PublicSteps {
  double steps = 1;  ///< T
  double clip = 1;   ///< C: no mean gradient without noise is longer
  double noise = 0;  ///< deviation of a coordinate of the sum of all steps' noise, at rate 1
  LabelKind labels = LabelKind::sign;
  /// Of a coordinate of one step's mean gradient, if steps have noise of their own.
  std::optional<double> step_noise = {};
};

struct OptimizerSettings {
  /// adam_bc: Adam with the noise's share taken out of its second moment (docs/methods/dp-sgd.md).
  enum class Kind { sgd, adam, adam_bc } kind = Kind::sgd;
  enum class Schedule { constant, linear, cosine } schedule = Schedule::constant;
  double rate = 0;  ///< 0: not set, settled() finds one
  double final_rate = 0, momentum = 0, beta1 = 0.9, beta2 = 0.999, stability = 1e-8;
  double noise_floor = 0.1, average = 0;
  double noise_variance = 0;  ///< adam_bc: of a coordinate of a gradient; settled() finds it

  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;
  /// With all that follows from public numbers: a rate, if the config sets none (docs/theory/default_rates.md), and
  /// the noise's variance. Throws ConfigError.
  OptimizerSettings settled(const PublicSteps& run) const;

 private:
  bool is_adam() const { return kind != Kind::sgd; }
  double default_rate(const PublicSteps& run) const;
  friend class Optimizer;
};

class Optimizer {
 public:
  /// `settings` are settled.
  Optimizer(const OptimizerSettings& settings, std::size_t dim, std::uint64_t steps);
  /// x <- x - rate(t) * direction(scale * gradient).
  void update(std::span<float> x, std::span<const float> gradient, float scale, std::uint64_t t);
  /// The iterate to publish: x, or its running average.
  std::span<const float> published(std::span<const float> x) const {
    return settings_.average > 0 ? std::span<const float>(mean_) : x;
  }
  double rate_at(std::uint64_t t) const;
  void archive(Archive& archive);

 private:
  void adam(std::span<float> x, std::span<const float> gradient, float scale, float rate);

  OptimizerSettings settings_;
  double steps_;
  double power1_ = 1, power2_ = 1;  // beta^t
  AlignedVector<float> first_, second_, mean_;
};

}  // namespace dpmpi
