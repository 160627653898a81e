#pragma once
// Settings of dp-sgd that follow from public numbers alone: batch, passes, clip, rate, momentum and schedule.
// docs/theory/default_settings.md derives them, and says on what records their constants were found.

#include <cstdint>
#include <optional>

#include "data/records/records.hpp"
#include "method/sgd/optimizer.hpp"

namespace dpmpi {

/// What the rule goes by: all of it public.
struct SgdFacts {
  double records = 1;      ///< n
  double size = 1;         ///< R: length of a typical record, with its bias
  double sensitivity = 1;  ///< of the sum of clipped gradients, in clips: 1 under add_remove, 2 under replace_one
  LabelKind labels = LabelKind::sign;
  /// mu of the run's GDP; infinity: without noise. With noise_multiplier > 0 it is not looked at.
  double mu = 1;
  double noise_multiplier = 0;  ///< 0: the noise follows from mu
  bool full = false;            ///< every step uses all records
};

/// Values that are given stay; the rule finds the others.
struct SgdSettings {
  std::optional<std::int64_t> batch = {};
  std::optional<double> epochs = {}, clip = {}, rate = {}, momentum = {};
  std::optional<OptimizerSettings::Schedule> schedule = {};
};

/// All settings of a run, rounded as they are written, and what follows from them.
struct SettledSgd {
  std::int64_t batch = 1;
  double epochs = 1, clip = 1, rate = 1, momentum = 0;
  OptimizerSettings::Schedule schedule = OptimizerSettings::Schedule::linear;

  double steps = 1;
  /// What is left of mu when the noise is spread over steps that draw a share of the records; 1: all of it.
  double efficiency = 1;
  /// mu / sensitivity that counts: n times it is how far clipped gradients can move a parameter, in clips, over the
  /// noise of a coordinate. Infinity without noise.
  double signal = 1;
  bool capped = false;  ///< the rate is as large as steps may be, whatever the noise
};

/// Local; the same on every rank. All values are finite and within the ranges of their options.
SettledSgd settle_sgd(const SgdFacts& facts, const SgdSettings& given = {});

/// Noise of all parameters over the longest sum of gradients: sqrt(d) / (n signal). 0 without noise.
double noise_over_signal(const SgdFacts& facts, const SettledSgd& settled, double parameters);

}  // namespace dpmpi
