#pragma once
// Policy evaluation from logged transitions by temporal differences: the mean squared projected Bellman error in
// its saddle-point form, over a value function and an auxiliary direction.

#include <memory>

#include "dpmpi/objective/saddle.hpp"

namespace dpmpi {

struct TdSettings {
  std::size_t state = 0;    ///< features of a state
  std::size_t hidden = 50;  ///< units of the value function's tanh layer; 0: it is linear
  float bias = 1;           ///< constant input of the value function; 0: none
  double discount = 0.95;   ///< gamma, in [0, 1]
  double dual_l2 = 0.1;     ///< mu_w: -(mu_w / 2) |omega|^2 is added, for strong concavity; public
  double dual_radius = 10;  ///< Y: |omega| is at most this
};

/// Parameters: theta, the value function's (primal), and omega (dual), laid out alike. Records: features (s, s',
/// terminal), 2 state + 1 of them, with terminal 0 or 1 (the value of s' counts 1 - terminal); label: the reward.
/// Losses are squared temporal-difference errors, without omega; scores are V(s). Throws ConfigError where the
/// settings are out of range.
std::unique_ptr<SaddleObjective> make_td(const TdSettings& settings);

/// The error that is minimised, of theta in w = (theta, omega) over all records that are there:
/// 1/2 b^T (G + mu_w I)^-1 b with b = mean delta Psi and G = mean Psi Psi^T, the maximum over all omega. It is 0
/// where the values solve the projected Bellman equation. Takes dim()^2 numbers and dim()^3 operations. Local.
double projected_bellman_error(const TdSettings& settings, std::span<const float> w, const Records& records);

}  // namespace dpmpi
