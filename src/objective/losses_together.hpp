#pragma once
// Losses of records at many points in one call: for objectives, as modules in Python, where a call costs more than
// a point does.

#include <algorithm>
#include <cstddef>
#include <span>

#include "objective/objective.hpp"

namespace dpmpi {

class LossesTogether {
 public:
  /// Whether losses_together() may be asked.
  virtual bool takes_points_together() const = 0;
  /// Whether a loss has the same bits whatever other points come in the same call.
  virtual bool points_are_apart() const = 0;
  /// losses[p * rows.size() + i] = loss of row i at point p, which is points[p * dim()], .., times its weight: that
  /// of AtPoint::losses, which may have other last bits. Non-finite stays as it is. Local.
  virtual void losses_together(std::span<const float> points, const Rows& rows, std::span<double> losses) = 0;

 protected:
  ~LossesTogether() = default;
};

/// Null where points come one after the other.
inline LossesTogether* losses_together(Objective& objective) {
  auto* const together = dynamic_cast<LossesTogether*>(&objective);
  return together != nullptr && together->takes_points_together() ? together : nullptr;
}

/// Points of one call of so many: all, or those that 64 MiB hold. A number that follows from public ones alone.
inline std::size_t points_of_a_call(std::size_t points, std::size_t dim) {
  constexpr std::size_t most = (std::size_t{64} << 20) / sizeof(float);
  return std::clamp<std::size_t>(most / std::max<std::size_t>(dim, 1), 1, std::max<std::size_t>(points, 1));
}

}  // namespace dpmpi
