#pragma once
// First-order updates from a released mean gradient: all of it post-processing, which costs no privacy.
// Only + - * / and sqrt of values that are the same on every rank, so that iterates stay identical everywhere.

#include <cstdint>
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
};

struct OptimizerSettings {
  enum class Kind { sgd, adam } kind = Kind::sgd;
  enum class Schedule { constant, linear, cosine } schedule = Schedule::constant;
  double rate = 0;  ///< 0: not set, settled() finds one
  double final_rate = 0, momentum = 0, beta1 = 0.9, beta2 = 0.999, stability = 1e-8;
  double average = 0;

  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;
  /// With a rate. If the config sets none, one that follows from public numbers (docs/theory/default_rates.md).
  OptimizerSettings settled(const PublicSteps& run) const;

 private:
  double default_rate(const PublicSteps& run) const;
};

class Optimizer {
 public:
  /// `settings` have a rate.
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
  OptimizerSettings settings_;
  double steps_;
  double power1_ = 1, power2_ = 1;  // beta^t
  AlignedVector<float> first_, second_, mean_;
};

}  // namespace dpmpi
