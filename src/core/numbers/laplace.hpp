#pragma once
// Secret Laplace noise from words of a keystream.

#include <cstdint>
#include <span>

namespace dpmpi {

/// A draw of the Laplace law of scale 1 from uniform words, with the same bits on every machine. It reaches 88. It
/// is within 2^-44 of a real number whose chance to exceed y is exact, for every y up to there, to a relative
/// 2^-52.
double standard_laplace(std::span<const std::uint64_t, 4> words);

}  // namespace dpmpi
