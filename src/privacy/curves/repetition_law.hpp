#pragma once
// How often a repeated mechanism runs: the number K of runs is random.

#include <cstdint>

#include "privacy/events/event.hpp"

namespace dpmpi {

/// E K, and its logarithm, which is never below 0 for a truncated negative binomial law. Relative error 1e-13.
double expected_repetitions(const RepetitionLaw& law);
double log_expected_repetitions(const RepetitionLaw& law);
/// Inverse transform of one 64-bit word: within 2^-46 max(1, E K) of the law in total variation.
std::uint64_t repetitions(const RepetitionLaw& law, std::uint64_t word);

}  // namespace dpmpi
