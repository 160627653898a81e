#pragma once
// Policy evaluation from logged transitions by temporal differences: the mean squared projected Bellman error in
// its saddle-point form, over a value function and an auxiliary direction.

#include <memory>
#include <optional>

#include "objective/layers/record_pass.hpp"
#include "objective/minimax/saddle.hpp"

namespace dpmpi {

struct TdSettings {
  std::size_t state = 0;                    ///< features of a state
  std::size_t hidden = 50;                  ///< units of the value function's tanh layer; 0: it is linear
  std::optional<LayeredShape> layers = {};  ///< the value function instead of that, of a state's features
  float bias = 1;                           ///< constant input of the value function; 0: none
  double discount = 0.95;                   ///< gamma, in [0, 1]
  double dual_l2 = 0.1;                     ///< mu_w: -(mu_w / 2) |omega|^2 is added, for strong concavity; public
  double dual_radius = 10;                  ///< Y: |omega| is at most this
  std::size_t episode_steps = 0;  ///< transitions of an episode at most, where a record is one; 0: a transition is
  bool grid_world = false;        ///< the records are of GridWorld, whose values are known
};

/// Parameters: theta, the value function's (primal), and omega (dual), laid out alike.
///
/// A record is a transition: features (s, s', terminal), 2 state + 1 of them, with terminal 0 or 1 (the value of s'
/// counts 1 - terminal); label: the reward. Or it is an episode, and its loss the sum over its transitions:
/// episode_steps times (s, s', terminal, reward); label: how many of them count, from the first (a record of which
/// that is no number from 1 to episode_steps contributes nothing).
///
/// losses() are squared temporal-difference errors, without omega, and their mean over an episode; scores() are
/// V(s), of an episode's first state. measures():
///   projected_bellman_error  what is minimised, 1/2 b^T (G + mu_w I)^-1 b with b = sum of delta Psi and G = sum of
///                            Psi Psi^T, both divided by the number of records: the maximum over all omega. 0 where
///                            the values solve the projected Bellman equation
///   value_error              grid_world: root of the mean squared error of V over the cells but the terminal one
///
/// Throws ConfigError where the settings are out of range, and for layers that are random, have an adapter, or
/// cannot be differentiated twice.
std::unique_ptr<SaddleObjective> make_td(const TdSettings& settings);

}  // namespace dpmpi
