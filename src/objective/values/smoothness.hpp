#pragma once
// Certified smoothness of per-record losses: what privacy amplification by hidden states rests on.
//
// The constants hold for every admissible record (features within feature_bound in norm, bias column included,
// labels within label_bound) and every point w with |w| <= radius; ProjectedDifferences enforces the bounds on
// records. They come from public values and from the form of the loss, never from data.

#include <optional>
#include <string>

#include "objective/objective.hpp"

namespace dpmpi {

struct Smoothness {
  double M = 0;      ///< gradients are M-Lipschitz
  double lower = 0;  ///< Hessians are >= lower I: m (strongly convex), 0 (convex) or -rho (weakly convex)
  double L = 0;      ///< losses are L-Lipschitz
  std::optional<double> T3 = {};  ///< bound of the third directional derivative, if one is known
  bool convex = false;            ///< lower >= 0
  double probe_error_fp = 0;      ///< what rounding adds to the error of one central difference
  std::string provenance = {};    ///< where the constants come from, for certificates

  /// Largest error e of one central difference with radius xi against the directional derivative.
  double probe_error(double xi) const;
};

/// The constants of a loss whose form is known (linear models with smooth losses, softmax regression); nothing for
/// other objectives, whose smoothness nobody has proved. `radius` = R + xi, because probes leave the ball of radius
/// R; `l2` is the ridge that is part of each record's loss (DifferenceRule::l2). Throws ConfigError if a bound is
/// missing or not positive.
std::optional<Smoothness> smoothness(const Objective& objective, double feature_bound, double label_bound,
                                     double radius, double l2 = 0);

/// Checks the constants on 64 synthetic public records and points in the ball of radius `radius`: the losses' first
/// and second differences must keep L, M and `lower`. Throws PrivacyError with the violation found. A check of
/// asserted constants, not a proof. Takes the objective to other points.
void check_smoothness(Objective& objective, const ObjectiveFacts& facts, const Smoothness& smoothness,
                      double feature_bound, double label_bound, double radius, double l2 = 0);

}  // namespace dpmpi
