#include "privacy/last_iterate/as_printed.hpp"

#include <algorithm>
#include <cmath>

#include "privacy/last_iterate/bounds.hpp"
#include "privacy/last_iterate/run.hpp"

namespace dpmpi::paper {

namespace {

// The setting as an event: s = 2 Delta eta / (sqrt K n).
HiddenState as_event(const Setting& p, double c2) {
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
double composition_rho(const Setting& p, double sensitivity, double steps) {
  const double shift = sensitivity * p.clip / p.records;
  return steps * shift * shift / (2 * p.noise * p.noise);
}

Curve at(double rho, double delta, std::uint64_t window = 0) { return {rho, mironov_epsilon(rho, delta), window}; }

}  // namespace

double mironov_epsilon(double rho, double delta) { return rho + 2 * std::sqrt(-rho * std::log(delta)); }

Curve theorem(const Setting& p, double delta) {
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

Curve composition(const Setting& p, double sensitivity, double delta) {
  return at(composition_rho(p, sensitivity, static_cast<double>(p.steps)), delta);
}

Curve output_perturbation(const Setting& p, double delta) {
  const double ratio = 2 * p.radius / (p.step * p.noise);
  return at(ratio * ratio * p.dimension / 2, delta);
}

// min{all steps, min over N of 2 N (2 Delta / n)^2 / sigma^2 + 4 W^2 d / (N eta^2 sigma^2)}.
Curve corollary_route(const Setting& p, double delta) {
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
