#pragma once
// What the min-max methods have in common: which records a query samples, how many rounds there are, how both sides
// move, and which iterate is the result. All of it public.

#include <cstdint>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "method/method.hpp"
#include "method/sgd/optimizer.hpp"
#include "objective/minimax/saddle.hpp"

namespace dpmpi {

/// The objective as the min-max problem that it must be. Throws ConfigError if it is none.
const SaddleObjective& saddle(const Objective* objective, const char* method);

struct SaddleSettings {
  enum class DualSchedule { constant, inverse, primal, closed_form } dual_schedule = DualSchedule::constant;
  enum class Output { last, uniform } output = Output::last;

  std::int64_t batch = 256, steps = 0, seed = 1;
  double epochs = 10;
  double clip = 1;       ///< C_1: of a record's primal gradient
  double dual_clip = 0;  ///< of the private part of its dual gradient; 0: the objective's own bound
  double dual_rate = 0;  ///< eta_y; 0: 0.3 / mu
  std::string sampling = "poisson";
  bool private_prior = false;
  double prior_noise = 200, prior_least = 0.01;
  OptimizerSettings descent;  ///< of x: rate, schedule, momentum, ...

  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;

  SamplingRule rule(const DatasetFacts& data) const;
  /// R. Counted in primal batches: an epoch is n / batch rounds.
  std::uint64_t rounds(const DatasetFacts& data) const;
  /// The bound on the private part of the dual gradient. Throws ConfigError if nothing gives one.
  double dual_bound(const SaddleObjective& f) const;
  /// Throws ConfigError if nothing gives eta_x or eta_y, or if the private prior is one that the objective does not
  /// have: asked for by plans, so that no release is paid for first.
  void check(const SaddleObjective& f) const;

 private:
  void check_weights(const SaddleObjective& f) const;
};

}  // namespace dpmpi
