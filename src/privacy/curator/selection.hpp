#pragma once
// Repeat and select (Papernot and Steinke 2022): the best of a random number of runs of one mechanism, of which
// nothing else is released, not even how many there were. docs/theory/selection.md has the bound.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/numbers/random.hpp"
#include "objective/kernel.hpp"

namespace dpmpi {

/// One run: what is summed over all records, and a public number that is added to the noisy sum to make its score.
struct Repetition {
  Kernel kernel;
  double offset = 0;
  /// Called on all ranks if no run before this one is better: what else the run made takes the place of theirs.
  std::function<void()> keep = {};
};
/// Makes a run of its secret uniform numbers in (0, 1). They must not depend on records, and the run on nothing but
/// them and what Curator::train_in_run released. None of it may be printed or timed, nor kept but by
/// Repetition::keep: the selected run's are released.
using RunProgram = std::function<Repetition(std::span<const double> uniforms)>;

/// What a release of repeated runs tells.
struct Selection {
  bool any = false;                  ///< false: there was no run (Poisson law only), and the rest means nothing
  double sum = 0;                    ///< noisy sum of the selected run
  std::span<const double> uniforms;  ///< its numbers
};

}  // namespace dpmpi
