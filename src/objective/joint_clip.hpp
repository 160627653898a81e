#pragma once
// Per-record vectors in double that are clipped as a whole, one record at a time.

#include <algorithm>
#include <cmath>
#include <span>

#include "objective/math/dot.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

/// y = q min(1, clip / |q|). False, and y is not to be used, if a coordinate or the norm is not finite.
inline bool clip_jointly(std::span<const double> q, double clip, std::span<double> y) {
  const double norm = std::sqrt(squared_norm(q.data(), q.size()));
  if (!std::isfinite(norm)) return false;  // min(1, C / NaN) would be 1
  const double factor = std::min(1.0, clip / norm);
  for (std::size_t k = 0; k < q.size(); ++k) y[k] = factor * q[k];
  return true;
}

/// Adds clip(q), clipped in place, to the sum as one record's contribution; nothing if it is not finite.
inline void add_clipped_jointly(std::span<double> q, double clip, LatticeAccumulator& sum) {
  if (!clip_jointly(q, clip, q)) return;
  sum.begin(1);
  sum.add(0, std::span<const double>(q));
}

/// What the arithmetic of clip_jointly adds to the norm of `count` numbers, relative to the clip. With u = 2^-53
/// the computed norm is at least (1 - (count / 2 + 3) u) |q|, the factor at most (1 + u) C / norm, and each product
/// is rounded once.
inline NumericSlack joint_clip_slack(std::size_t count) {
  return {.clip = (static_cast<double>(count) + 8) * 0x1p-53, .summed_rows = 1};
}

}  // namespace dpmpi
