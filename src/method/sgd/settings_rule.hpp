#pragma once
// Settings of dp-sgd that follow from public numbers alone: batch, passes, clip, rate, momentum and schedule.
// docs/theory/default_settings.md derives them, and says on what records their constants were found.

#include <cstdint>
#include <optional>

#include "method/automatic.hpp"
#include "method/sgd/optimizer.hpp"

namespace dpmpi {

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
SettledSgd settle_sgd(const PublicNumbers& facts, const SgdSettings& given = {});

}  // namespace dpmpi
