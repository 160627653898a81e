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

namespace dpmpi {

struct OptimizerSettings {
  enum class Kind { sgd, adam } kind = Kind::sgd;
  enum class Schedule { constant, linear, cosine } schedule = Schedule::constant;
  double rate = 0.5, final_rate = 0, momentum = 0, beta1 = 0.9, beta2 = 0.999, stability = 1e-8;
  double average = 0;

  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;
};

class Optimizer {
 public:
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
