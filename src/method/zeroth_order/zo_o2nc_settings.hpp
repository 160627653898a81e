#pragma once
// The settings of zo-o2nc.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "method/method.hpp"
#include "method/zeroth_order/settings.hpp"
#include "objective/math/directions.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

struct ZoO2ncSettings final : MethodSettings {
  ZoSettings outer;  ///< of the outer loop
  std::int64_t batch = 0, first_batch = 0, restart = 0, count = 0, block = 32, band = 64;
  double slope_clip = 0, gradient_clip = 0, kappa = 0;
  bool automatic = false, skip_last = false, centre = false, fast = true, adaptive_clip = false;
  DirectionScheme scheme = DirectionScheme::haar;
  Strategy strategy = Strategy::fenwick;

  void declare(Options& options) override;
  void validate(std::vector<std::string>& problems) const override;
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

}  // namespace dpmpi
