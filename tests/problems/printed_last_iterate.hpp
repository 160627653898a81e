#pragma once
// The bounds of Chien, Chen and Li (2025, arXiv:2506.00158v1) as they are printed, for tests. Some are not proved
// there and some are too small: the sensitivity of two-sided clips, the uniform Lipschitz constant and the
// corollary's constant (docs/theory/last_iterate.md).

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "privacy/last_iterate/bounds.hpp"
#include "privacy/last_iterate/run.hpp"

namespace dpmpi::paper {

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

// The setting as an event: s = 2 Delta eta / (sqrt K n).
inline HiddenState as_event(const Setting& p, double c2) {
  const double s = 2 * p.clip * p.step / (std::sqrt(p.directions) * p.records), h = p.step / p.directions;
  HiddenState run;
  run.steps = run.hybrid = p.steps;
  run.directional_multiplier = p.step * p.noise * std::sqrt(p.share / p.directions) / s;
  run.isotropic_multiplier = p.step * p.noise * std::sqrt((1 - p.share) / p.dimension) / s;
  run.diameter = 2 * p.radius / s;
  run.drift = p.records;
  run.contraction = p.convexity > 0 ? 1 - h * p.convexity : p.convexity == 0 ? 1 : 1 + h * p.smoothness;
  run.error = c2 / s;
  run.directions = static_cast<std::uint64_t>(p.directions);
  run.dimension = static_cast<std::uint64_t>(p.dimension);
  run.population = run.batch = static_cast<std::uint64_t>(p.records);
  return run;
}

// rho of composition with a sensitivity of `sensitivity` Delta / n, all noise on the directions.
inline double composition_rho(const Setting& p, double sensitivity, double steps) {
  const double shift = sensitivity * p.clip / p.records;
  return steps * shift * shift / (2 * p.noise * p.noise);
}

/// rho + 2 sqrt(rho log(1 / delta)): Mironov's conversion at its best order.
inline double mironov_epsilon(double rho, double delta) { return rho + 2 * std::sqrt(-rho * std::log(delta)); }

inline Curve at(double rho, double delta, std::uint64_t window = 0) {
  return {rho, mironov_epsilon(rho, delta), window};
}

/// Theorem 3.2, with the recursion's index repaired: half of delta for the bad event, Mironov's conversion for the
/// rest. (Sensitivity 2 Delta / n.)
inline Curve theorem(const Setting& p, double delta) {
  const HiddenState run = as_event(p, p.step * p.smoothness * p.probe);
  const Stretch all = stretches(run).front();
  const StepMap map = step_map(run);
  const auto growth = [&](std::uint64_t window) {
    const double square = map.contraction * map.contraction, mean = map.directions / map.dimension;
    const double e = bernstein_deviation(map, window, delta / 2);
    return Growth{std::log1p(-(1 - square) * mean + e * (1 + square) * mean) / 2, 0};
  };
  const auto best = best_window([&](std::uint64_t n) { return coupling_mu(run, all, n, growth(n)); }, p.steps, 160);
  const double composed = composition_mu(run);
  if (composed <= best.value) return at(composed * composed / 2, delta / 2, p.steps);
  return at(best.value * best.value / 2, delta / 2, best.window);
}

/// Plain composition with all noise on the directions; `sensitivity` 1 as printed (Delta / n) or 2 (2 Delta / n).
inline Curve composition(const Setting& p, double sensitivity, double delta) {
  return at(composition_rho(p, sensitivity, static_cast<double>(p.steps)), delta);
}

/// The last step alone, (2 R)^2 d / (2 eta^2 sigma^2).
inline Curve output_perturbation(const Setting& p, double delta) {
  const double ratio = 2 * p.radius / (p.step * p.noise);
  return at(ratio * ratio * p.dimension / 2, delta);
}

// The curve that the proof of Corollary 3.3 gives for a finite T, at delta / 2: min{all steps, min over N of 2 N (2
// Delta / n)^2 / sigma^2 + 4 W^2 d / (N eta^2 sigma^2)}.
inline Curve corollary_route(const Setting& p, double delta) {
  const double noise = p.step * p.noise, shift = 2 * p.clip / p.records;
  const auto rho = [&](std::uint64_t window) {
    const double n = static_cast<double>(window), before = static_cast<double>(p.steps - window);
    const double gap = std::min(2 * p.radius, 2 * p.step * p.clip * before / std::sqrt(p.directions));
    return 2 * n * shift * shift / (p.noise * p.noise) + 4 * gap * gap * p.dimension / (n * noise * noise);
  };
  const auto best = best_window(rho, p.steps, 160);
  const double composed = composition_rho(p, 2, static_cast<double>(p.steps));
  return composed <= best.value ? at(composed, delta / 2, p.steps) : at(best.value, delta / 2, best.window);
}

}  // namespace dpmpi::paper
