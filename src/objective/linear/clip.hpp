#pragma once
// What the linear models share to hold their norm bound in float32.

#include <bit>
#include <cmath>
#include <cstdint>

#include "objective/objective.hpp"

namespace dpmpi {

/// How far the norm of one contribution, before it is rounded to the lattice, may exceed the clip C, relative to C.
///
/// The unclipped contribution is an outer product of slopes s (one number for a scalar loss) and the record x,
/// whose cached norm n is never below |x| (features of bytes taken as rounded products: at most a factor 1 + u
/// below, u = 2^-24). In double, c = clip(s, C / n) has |c| n <= C (1 + e), e = (outputs + 4) 2^-53 < u / 4 up to
/// 2^27 outputs. The factor 2^k c (times the row scale of bytes, another 2^-53) is rounded to float32 towards zero:
/// never up. Each product factor * x_j is rounded once: 1 + u; where it underflows it is far below half a quantum
/// and rounds to the integer 0. Together (1 + u)^2 (1 + e) (1 + 2^-53) < 1 + 3u. In integers the norm is at most
/// 2^k C (1 + 3u) + sqrt(dim) / 2.
inline constexpr NumericSlack linear_slack{.clip = 3 * 0x1p-24, .summed_rows = 1};

/// x rounded to float32 towards zero; overflow goes to the largest float32.
inline float towards_zero(double x) {
  const auto nearest = static_cast<float>(x);
  const bool beyond = std::abs(static_cast<double>(nearest)) > std::abs(x);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - (beyond ? 1U : 0U));
}

}  // namespace dpmpi
