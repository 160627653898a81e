#include "objective/minimax/auc_loss.hpp"

#include <limits>

namespace dpmpi {

double AucSurrogate::value(double h, double label, const AucPoint& at) const {
  if (std::isnan(label)) return label;
  const double own = label > 0 ? (1 - p) * (h - at.a) * (h - at.a) : p * (h - at.b) * (h - at.b);
  return own + at.alpha * (2 * p * (1 - p) + private_dual(h, label)) - p * (1 - p) * at.alpha * at.alpha;
}

AucGradient AucSurrogate::gradient(double h, double label, const AucPoint& at) const {
  if (std::isnan(label)) return {label, label, label, label};
  const double by_alpha = private_dual(h, label) + public_dual(at.alpha);
  if (label > 0) return {2 * (1 - p) * (h - at.a - at.alpha), -2 * (1 - p) * (h - at.a), 0, by_alpha};
  return {2 * p * (h - at.b + at.alpha), 0, -2 * p * (h - at.b), by_alpha};
}

void AucLoss::gradient(const double* outputs, float label, std::span<const float> tail, double* delta,
                       double* slope) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const AucGradient g = surrogate_.gradient(score(outputs[0]), label, point(tail));
  const bool valid = std::isfinite(outputs[0]) && std::isfinite(label);
  delta[0] = valid ? g.by_score * score_slope(map_, outputs[0]) : none;
  slope[0] = valid ? g.by_a : none;
  slope[1] = valid ? g.by_b : none;
}

}  // namespace dpmpi
