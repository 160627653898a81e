#pragma once
// The settings of zo-hidden.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/records/sampling.hpp"
#include "method/method.hpp"
#include "objective/math/frames.hpp"

namespace dpmpi {

struct LastIterateSettings final : MethodSettings {
  static constexpr double automatic = -1;  ///< of `share`, which may be 0
  std::int64_t steps = 1000, directions = 16, batch = 256, window = 0, seed = 1;
  std::int64_t direction_seed = -1;
  double clip = 0, clip_failure = 0, radius = 0, rate = 0, ball = 0, share = automatic;
  double feature_bound = 0, label_bound = 0;
  bool joint = true;           ///< one clip for a record's K differences; else one for each
  std::vector<double> proved;  ///< M, the least curvature and L of every record's loss; empty: not declared
  DirectionLaw law = DirectionLaw::stiefel;
  std::string sampling = "full", release = "final";

  void declare(Options& options) override;
  void validate(std::vector<std::string>& problems) const override;
  std::string describe_releases() const override;
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;

  std::uint64_t T() const { return static_cast<std::uint64_t>(steps); }
  std::uint64_t K() const { return static_cast<std::uint64_t>(directions); }
  std::string law_name() const;
  /// Which records a step takes. Throws ConfigError if the batch is larger than the data.
  SamplingRule rule(std::uint64_t records) const;
  /// Whether iterates stay hidden, and the run is accounted for by that; else by composition.
  bool hidden() const { return release != "all"; }
  /// Steps between releases.
  std::uint64_t release_every() const;
  /// Whether the iterate after t steps is released.
  bool releases(std::uint64_t t) const { return t == T() || t % release_every() == 0; }
  /// The steps after which iterates are released, ascending; T last.
  std::vector<std::uint64_t> released_steps() const;
};

}  // namespace dpmpi
