#pragma once
// The settings of zo-hidden.

#include <cstdint>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/records/sampling.hpp"
#include "method/method.hpp"
#include "objective/math/frames.hpp"

namespace dpmpi {

struct HiddenOptions {
  static constexpr double automatic = -1;  ///< of `share`, which may be 0

  std::int64_t steps = 1000, directions = 16, batch = 256, window = 0, release_every = 0, seed = 1;
  std::int64_t direction_seed = -1;
  double clip = 0, clip_failure = 0, radius = 0, rate = 0, ball = 0, share = automatic, momentum = 0, average = 0;
  double feature_bound = 0, label_bound = 0, smooth = 0, curvature = 0, lipschitz = 0;
  bool proved = false;
  std::string law = "stiefel", clipping = "joint", sampling = "full", release = "final", accounting = "hidden";
  std::vector<std::string> start;

  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;

  DirectionLaw direction_law() const;
  bool hidden() const { return accounting == "hidden"; }
  /// Whether constants of the loss are declared.
  bool declares() const { return smooth > 0 || lipschitz > 0 || curvature != 0; }
  bool joint() const { return clipping == "joint"; }
  std::uint64_t T() const { return static_cast<std::uint64_t>(steps); }
  std::uint64_t K() const { return static_cast<std::uint64_t>(directions); }
  /// Which records a step takes. Throws ConfigError if the batch is larger than the data.
  SamplingRule rule(std::uint64_t records) const;
  /// Whether the iterate after t steps is released.
  bool releases(std::uint64_t t) const;
  /// The steps after which iterates are released, ascending; T last.
  std::vector<std::uint64_t> released_steps() const;
};

}  // namespace dpmpi
