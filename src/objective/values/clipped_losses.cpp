#include "objective/values/clipped_losses.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "objective/takes_part.hpp"
#include "objective/values/points_of_a_call.hpp"

namespace dpmpi {

ClippedLosses::ClippedLosses(Objective& objective, std::size_t points, double clip)
    : objective_(objective),
      half_(clip / 2),
      together_(objective.together()),
      stride_(together_ ? objective.dim() : round_up(objective.dim(), 16)),
      count_(points),
      at_once_(together_ ? points_of_a_call(points, objective.dim()) : 1),
      points_(points * stride_, 0.0F),
      losses_(at_once_ * objective.micro_batch_rows()) {
  verify(points > 0 && clip > 0, "losses at points, within a clip");
}

Kernel ClippedLosses::sum() {
  Kernel kernel = [this](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    verify(sum.dim() == count_ && bound.clip >= ClippedLosses::bound(count_, 2 * half_).clip,
           "a query declares the bound of its losses");
    add(rows, sum);
  };
  kernel.readings = (count_ + at_once_ - 1) / at_once_;
  kernel.begin = [this](std::size_t reading) { begin(reading); };
  return kernel;
}

void ClippedLosses::begin(std::size_t reading) {
  first_ = reading * at_once_;
  if (together_ == nullptr) at_ = objective_.at(point(first_));
}

/// Point after point.
void ClippedLosses::evaluate(const Rows& rows, std::span<double> losses) {
  if (together_ == nullptr) return at_.losses(rows, losses);
  const std::size_t points = losses.size() / rows.size();
  together_->losses_together(std::span<const float>(points_).subspan(first_ * stride_, points * stride_), rows,
                             losses);
}

void ClippedLosses::add(const Rows& rows, LatticeAccumulator& sum) {
  const std::size_t n = rows.size(), points = std::min(at_once_, count_ - first_);
  const auto losses = std::span(losses_).first(points * n);
  evaluate(rows, losses);
  for (std::size_t p = 0; p < points; ++p)
    for (std::size_t r = 0; r < n; ++r) {
      if (!takes_part(rows.records, rows.index[r])) continue;
      const double loss = losses[p * n + r];
      const double value = (std::isfinite(loss) ? std::clamp(loss, 0.0, 2 * half_) : 2 * half_) - half_;
      sum.begin(1);
      sum.add(first_ + p, std::span(&value, 1));
    }
}

// No contribution exceeds C/2 in a coordinate, exactly: rounding is monotone and C/2 a double.
L2Bound ClippedLosses::bound(std::size_t points, double clip) {
  return {clip / 2 * std::sqrt(static_cast<double>(points))};
}

// The rounding of the bound itself.
NumericSlack ClippedLosses::slack() { return {.clip = 0x1p-51, .summed_rows = 1}; }

}  // namespace dpmpi
