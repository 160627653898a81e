#pragma once
// NOT A CERTIFICATE. The bounds of Chien, Chen and Li (2025, arXiv:2506.00158v1) as they are printed, for comparing
// curves. Some are not proved there and some are too small: the sensitivity of two-sided clips, the uniform
// Lipschitz constant and the corollary's constant (docs/theory/last_iterate.md). Nothing here
// enters a ledger.

#include <cstdint>

namespace dpmpi::paper {

inline constexpr const char* warning = "NOT A CERTIFICATE";

/// The paper's setting, full batch, in its units.
struct Setting {
  double records = 1, dimension = 1, directions = 1;
  double step = 1;        ///< eta
  double noise = 1;       ///< sigma
  double clip = 1;        ///< Delta, of every coordinate
  double radius = 1;      ///< R
  double smoothness = 1;  ///< M
  double convexity = 0;   ///< m; 0: convex only. Below 0: not convex, c = 1 + h M
  double probe = 0;       ///< xi
  double share = 0.5;     ///< f, of the variance on the directions (beta of the theorems)
  std::uint64_t steps = 1;
};

/// A curve eps(a) = rho a, and its epsilon at delta.
struct Curve {
  double rho = 0, epsilon = 0;
  std::uint64_t window = 0;
};
/// Theorem 3.2, with the recursion's index repaired: half of delta for the bad event, Mironov's conversion for the
/// rest. (Sensitivity 2 Delta / n.)
Curve theorem(const Setting& setting, double delta);

/// Plain composition with all noise on the directions; `sensitivity` 1 as printed (Delta / n) or 2 (2 Delta / n).
Curve composition(const Setting& setting, double sensitivity, double delta);
/// The last step alone, (2 R)^2 d / (2 eta^2 sigma^2).
Curve output_perturbation(const Setting& setting, double delta);

/// The curve that the proof of Corollary 3.3 gives for a finite T, at delta / 2.
Curve corollary_route(const Setting& setting, double delta);

/// rho + 2 sqrt(rho log(1 / delta)): Mironov's conversion at its best order.
double mironov_epsilon(double rho, double delta);

}  // namespace dpmpi::paper
