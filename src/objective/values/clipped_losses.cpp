#include "objective/values/clipped_losses.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "objective/takes_part.hpp"

namespace dpmpi {

ClippedLosses::ClippedLosses(Objective& objective, std::size_t points, double clip)
    : objective_(objective),
      half_(clip / 2),
      stride_(round_up(objective.dim(), 16)),
      count_(points),
      points_(points * stride_, 0.0F),
      losses_(objective.micro_batch_rows()) {
  verify(points > 0 && clip > 0, "losses at points, within a clip");
}

Kernel ClippedLosses::sum() {
  Kernel kernel = [this](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    verify(sum.dim() == count_ && bound.clip >= ClippedLosses::bound(count_, 2 * half_).clip,
           "a query declares the bound of its losses");
    add(rows, sum);
  };
  kernel.readings = count_;
  kernel.begin = [this](std::size_t reading) { reading_ = reading, at_ = objective_.at(point(reading)); };
  return kernel;
}

void ClippedLosses::add(const Rows& rows, LatticeAccumulator& sum) {
  const auto losses = std::span(losses_).first(rows.size());
  at_.losses(rows, losses);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!takes_part(rows.records, rows.index[r])) continue;
    const double value = (std::isfinite(losses[r]) ? std::clamp(losses[r], 0.0, 2 * half_) : 2 * half_) - half_;
    sum.begin(1);
    sum.add(reading_, std::span(&value, 1));
  }
}

// No contribution exceeds C/2 in a coordinate, exactly: rounding is monotone and C/2 a double.
L2Bound ClippedLosses::bound(std::size_t points, double clip) {
  return {clip / 2 * std::sqrt(static_cast<double>(points))};
}

// The rounding of the bound itself.
NumericSlack ClippedLosses::slack() { return {.clip = 0x1p-51, .summed_rows = 1}; }

}  // namespace dpmpi
