#pragma once
// The settings of ht-localize, and the phases of all rounds that follow from them.

#include <vector>

#include "method/heavy_tailed/localization.hpp"
#include "method/heavy_tailed/options.hpp"
#include "method/method.hpp"

namespace dpmpi {

struct HtLocalizeSettings final : MethodSettings {
  HeavyTailOptions moments;
  std::int64_t folds = 1, phases = 0, steps = 64, seed = 1;
  double fail_prob = 0.05, clip = 0, lambda_scale = 1, strong_convexity = 0, rate = 0;

  void declare(Options& options) override;
  void validate(std::vector<std::string>& problems) const override { moments.validate(problems); }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

/// A phase of any round.
struct FoldedPhase : LocalizedPhase {
  double reach = 0;           ///< radius of the ball around its start that its folds stay in
  double domain = 0;          ///< likewise around the start of its round
  bool begins_round = false;  ///< these are one
};
struct FoldedSchedule {
  std::uint64_t folds = 1;
  std::vector<FoldedPhase> phases;
  double bound = 0;  ///< of the excess risk; 0: none

  const FoldedPhase& phase_of(std::size_t fold) const { return phases[fold / folds]; }
  /// The folds of all phases, cut by a public seed.
  Disjoint rule(std::uint64_t seed) const;
};
/// Throws ConfigError.
FoldedSchedule plan_folds(const HtLocalizeSettings& settings, const PublicFacts& facts);

}  // namespace dpmpi
