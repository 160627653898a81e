#pragma once
// Repeat and select (Papernot and Steinke 2022): the best of a random number of runs of one mechanism, of which
// nothing else is released, not even how many there were. docs/privacy.md has the bound.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "dpmpi/core/random.hpp"
#include "dpmpi/objective/kernel.hpp"
#include "dpmpi/privacy/event.hpp"

namespace dpmpi {

/// One run: what is summed over all records, and a public number that is added to the noisy sum to make its score.
struct Repetition {
  Kernel kernel;
  double offset = 0;
};
/// Makes a run of its secret uniform numbers in (0, 1). They, the kernel and the offset must not depend on records
/// or on earlier runs, and none may be kept, printed or timed: the selected run's are released.
using RepeatProgram = std::function<Repetition(std::span<const double> uniforms)>;

/// What a release of repeated runs tells.
struct Selection {
  bool any = false;                  ///< false: there was no run (Poisson law only), and the rest means nothing
  double sum = 0;                    ///< noisy sum of the selected run
  std::span<const double> uniforms;  ///< its numbers
};

/// E K, and its logarithm, which is never below 0 for a truncated negative binomial law. Relative error 1e-13.
double expected_repetitions(const RepetitionLaw& law);
double log_expected_repetitions(const RepetitionLaw& law);
/// Inverse transform of one 64-bit word: within 2^-46 max(1, E K) of the law in total variation.
std::uint64_t repetitions(const RepetitionLaw& law, std::uint64_t word);

}  // namespace dpmpi
