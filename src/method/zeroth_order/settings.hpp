#pragma once
// What the zeroth-order methods have in common: the problem's public constants and the outer loop.

#include <cstdint>
#include <string>
#include <vector>

#include "core/aligned.hpp"
#include "core/options.hpp"
#include "method/zeroth_order/online_to_nonconvex.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

struct ZoSettings {
  std::int64_t inner = 256, outer = 0, passes = 1, seed = 1;
  double radius = 0.1, step_radius = 0, lipschitz = 1, gap = 1, rate = 0;
  bool fixed_step = false;
  OnlineToNonconvex::Output output = OnlineToNonconvex::Output::uniform;
  std::vector<std::string> start;

  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;

  /// Throws ConfigError if method.start is longer than the parameters, or passes of K epochs of T steps are too
  /// many steps.
  void check(const Objective& objective, std::uint64_t T, std::uint64_t K) const;
  /// The objective's start point, its first coordinates replaced by method.start.
  AlignedVector<float> start_point(const Objective& objective) const;
  /// `G`: root mean square of the releases, for step = fixed without a rate.
  OnlineToNonconvex::Settings loop(std::uint64_t T, std::uint64_t K, double G) const;
  /// D.
  double step_radius_for(std::uint64_t T) const {
    return step_radius > 0 ? step_radius : radius / static_cast<double>(T);
  }
};

/// Appends a problem for each text of method.start that is not a number which float32 holds.
void validate_start(const std::vector<std::string>& start, std::vector<std::string>& problems);
/// Throws ConfigError if method.start has more numbers than the objective has parameters.
void check_start(const std::vector<std::string>& start, const Objective& objective);

/// g <- g + l2 x on the regularised coordinates: the public part of the objective joins after the release.
void add_regularizer(const Objective& objective, std::span<const double> x, std::span<double> g);

}  // namespace dpmpi
