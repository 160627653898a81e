#pragma once
// A clip that follows the data, chosen privately: a noised histogram of gradient norms on a public grid, and the
// smallest clip of the grid above which few enough records lie.

#include <array>
#include <cstddef>
#include <span>

#include "objective/kernel.hpp"
#include "privacy/curator/query.hpp"

namespace dpmpi {

/// Clips lowest * 1.25^j, j = 0 .. 48; bin j holds the norms in [clip(j), clip(j + 1)), the first and the last bin
/// also what lies below and above.
class ClipGrid {
 public:
  static constexpr std::size_t bins = 48;
  static constexpr double ratio = 1.25;

  /// lowest > 0: a public constant, the smallest clip that can be chosen.
  explicit ClipGrid(double lowest);
  double clip(std::size_t j) const { return clips_[j]; }
  double highest() const { return clips_[bins]; }

  /// The bin of a norm; `bins`, which is none, if it is not finite.
  std::size_t bin(double norm) const;
  /// clip(j) for the smallest j with at most `target` records in the bins j, j + 1, ... by these counts, which may
  /// be noisy; highest() if there is none.
  double choose(std::span<const double> counts, double target) const;

  /// One release of all records, in step 0.
  QuerySpec query(double noise_multiplier) const;
  /// Counts the norms of the gradients at w (GradientNorms::gradient_norms). `objective`, `w` and the grid must
  /// stay.
  Kernel counts(Objective& objective, std::span<const float> w) const;

 private:
  std::array<double, bins + 1> clips_;
};

}  // namespace dpmpi
