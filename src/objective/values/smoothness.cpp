#include "objective/values/smoothness.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/class_weights.hpp"
#include "objective/math/losses.hpp"

namespace dpmpi {
namespace {

bool is_positive(double v) { return v > 0 && std::isfinite(v); }

/// With u = 2^-53: a margin of d products is wrong by at most d u Rx |v|, whether v = w or a direction, so the
/// difference by d u (L + M |w|); columns are orthonormal to less than d u more; the stable forms of the losses err
/// by a few tens of u of a slope.
double rounding_error(std::size_t d, double L, double M, double radius) {
  return (2 * static_cast<double>(d) + 64) * 0x1p-53 * (L + M * radius);
}

/// Of losses phi(<w, x>) with |x| <= Rx: grad = phi' x, Hessian = phi'' x x^T, third derivative phi''' <u, x>^3.
Smoothness of_margin(const LossBounds& phi, double Rx) {
  Smoothness s;
  s.M = Rx * Rx * std::max(phi.most, -phi.least);
  s.lower = phi.least < 0 ? Rx * Rx * phi.least : 0;  // a Hessian of rank one is never strongly convex
  s.L = Rx * phi.slope;
  if (phi.third) s.T3 = Rx * Rx * Rx * *phi.third;
  return s;
}

/// Of the cross-entropy: grad = (p - e_y) x^T with |p - e_y| <= sqrt(2); the Hessian diag(p) - p p^T of the logits
/// has norm at most 1/2. Both times the weight of the class.
Smoothness of_softmax(double Rx, double weight) {
  Smoothness s;
  s.M = weight * (Rx * Rx / 2);
  s.L = weight * (std::sqrt(2.0) * Rx);
  return s;
}

void add_ridge(double l2, double radius, Smoothness& s) {
  s.M += l2;
  s.lower += l2;
  s.L += l2 * radius;
}

}  // namespace

// |(f(xi) - f(-xi)) / (2 xi) - f'(0)| for f with lower <= f'' <= M: both one-sided remainders are in
// [lower xi^2 / 2, M xi^2 / 2], and half their difference over xi at most (M - lower) xi / 4. With |f'''| <= T3 the
// mean of the remainders is T3 xi^2 / 6. A lower bound above 0 is not used.
double Smoothness::probe_error(double xi) const {
  const double by_curvature = (M - std::min(lower, 0.0)) * xi / 4;
  const double truncation = T3 ? std::min(by_curvature, *T3 * xi * xi / 6) : by_curvature;
  return truncation + probe_error_fp;
}

std::optional<Smoothness> smoothness(const Objective& objective, double feature_bound, double label_bound,
                                     double radius, double l2) {
  const ScalarLoss* phi = objective.scalar_loss();
  if (phi == nullptr && !objective.linear_softmax()) return std::nullopt;
  if (!is_positive(feature_bound))
    throw ConfigError(
        fmt::format("certified smoothness needs a bound on the norm of features, above 0, not {}", feature_bound));
  if (!is_positive(radius))
    throw ConfigError(
        fmt::format("certified smoothness needs a finite radius of the parameters, above 0, not {}", radius));
  if (!(l2 >= 0 && std::isfinite(l2)))
    throw ConfigError(fmt::format("the ridge is {}, allowed: a finite number >= 0", l2));

  Smoothness s;
  if (phi != nullptr) {
    const bool real = is_quantity(phi->label_kind());
    const auto bounds = phi->bounds(feature_bound * radius, real ? label_bound : 1);
    if (!bounds) return std::nullopt;
    if (real && !is_positive(label_bound))
      throw ConfigError(
          fmt::format("certified smoothness needs a bound on the labels, above 0, not {}", label_bound));
    s = of_margin(*bounds, feature_bound);
  } else {
    s = of_softmax(feature_bound, objective.class_weights().largest());
  }
  add_ridge(l2, radius, s);
  s.convex = s.lower >= 0;
  s.probe_error_fp = rounding_error(objective.dim(), s.L, s.M, radius);
  s.provenance =
      fmt::format("derived from the loss: features in norm {}, {}parameters in norm {}, ridge {}", feature_bound,
                  is_quantity(objective.label_kind()) ? fmt::format("labels {}, ", label_bound) : "", radius, l2);
  return s;
}

}  // namespace dpmpi
