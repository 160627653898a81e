#pragma once
// The settings of zeroth-order runs that the tests of hidden iterates share, in the units of the method: as events.

#include <cmath>
#include <cstdint>
#include <span>

#include "privacy/events/event.hpp"
#include "privacy/last_iterate/bounds.hpp"

namespace dpmpi {

struct HiddenCase {
  double n = 1000, d = 5000, K = 16, eta = 16, sigma = 0.3;
  double contraction = 1;
  double e = 1e-8 / 4;  ///< error of one difference: M xi / 4 if convex, M xi / 2 if not
  double share = 0.5, radius = 1, batch = 0, zeta = 1;
  double norm = 0;  ///< of a record's clipped differences; 0: sqrt K (a clip of 1 per coordinate)

  double shift() const { return eta * 2 * (norm > 0 ? norm : std::sqrt(K)) / (K * (batch > 0 ? batch : n)); }
  double s1() const { return eta * sigma * std::sqrt(share / K); }
  double s2() const { return eta * sigma * std::sqrt((1 - share) / d); }

  /// The run of T steps, all of them hybrid; f = 1: none of them.
  HiddenState run(double T) const {
    const double s = shift(), b = batch > 0 ? batch : n;
    HiddenState run;
    run.steps = static_cast<std::uint64_t>(T);
    if (share < 1) {
      run.hybrid = run.steps;
      run.directional_multiplier = s1() / s;
      run.isotropic_multiplier = s2() / s;
    } else {
      run.before_multiplier = s1() / s;
    }
    run.diameter = 2 * radius / s;
    run.drift = b;
    run.contraction = contraction;
    run.retention = zeta;
    run.error = 2 * e * eta / std::sqrt(K) / s;
    run.directions = static_cast<std::uint64_t>(K);
    run.dimension = static_cast<std::uint64_t>(d);
    run.population = static_cast<std::uint64_t>(n);
    run.batch = static_cast<std::uint64_t>(b);
    return run;
  }
};

inline HiddenCase with_all_on_directions(HiddenCase c) {
  c.share = 1;
  return c;
}

// Strongly convex, convex and not convex; clip, smoothness and radius 1, probe 1e-8.
inline constexpr HiddenCase G1{.n = 1e4, .d = 1e5, .K = 200, .eta = 200, .sigma = 0.05, .contraction = 1 - 0.9};
inline constexpr HiddenCase G2{.n = 1e4, .d = 1e5, .K = 200, .eta = 200, .sigma = 0.05};
inline constexpr HiddenCase G3{.n = 200, .d = 1000, .K = 1, .eta = 1, .sigma = 1};
inline constexpr HiddenCase G4{};
inline constexpr HiddenCase G5{.eta = 0.16, .sigma = 3, .contraction = 1.01, .e = 1e-8 / 2};
inline constexpr HiddenCase G6{
    .n = 1000, .d = 1e5, .K = 64, .eta = 3.2, .sigma = 1, .contraction = 1.05, .e = 1e-8 / 2};
inline constexpr HiddenCase G7{.n = 1000, .d = 2000, .K = 64, .eta = 64, .sigma = 0.3, .contraction = 0.9};

/// One point of the curve.
inline double sampled_gaussian_rdp(double order, double rate, double mu) {
  return sampled_gaussian_curve(rate, mu, std::span(&order, 1)).front();
}

}  // namespace dpmpi
