#pragma once
// Markov decision processes that transitions are logged from, by their published equations. Only + - * / and
// square roots, and sines made of them: the same bits on every machine.

#include <array>
#include <vector>

namespace dpmpi {

/// sin and cos to about 1e-15 for |x| < 100.
double portable_sin(double x);
double portable_cos(double x);

/// The cart and pole of Barto, Sutton and Anderson (1983): state (x, x', theta, theta'), force -10 N or +10 N
/// (action 0 or 1), an explicit Euler step of 0.02 s. Every step earns 1.
struct CartPole {
  using State = std::array<double, 4>;
  static constexpr int actions = 2;
  static State step(const State& s, int action);
  /// |x| > 2.4 m or |theta| > 12 degrees.
  static bool terminal(const State& s);
  /// (x / 2.4, x' / 3, theta / 0.2095, theta' / 3.5).
  static std::array<double, 4> features(const State& s);
};

/// The two-link pendulum of Sutton (1996): state (theta1, theta2, theta1', theta2'), torque -1, 0 or 1 on the
/// second joint (action 0, 1 or 2), one fourth-order Runge-Kutta step of 0.2 s, angles wrapped to [-pi, pi], rates
/// clipped to 4 pi and 9 pi. Every step earns -1.
struct Acrobot {
  using State = std::array<double, 4>;
  static constexpr int actions = 3;
  static State step(const State& s, int action);
  /// The tip is above the line: -cos theta1 - cos(theta1 + theta2) > 1.
  static bool terminal(const State& s);
  /// (cos theta1, sin theta1, cos theta2, sin theta2, theta1' / 4 pi, theta2' / 9 pi).
  static std::array<double, 6> features(const State& s);
};

/// Four by four cells; up, right, down, left (actions 0 to 3), and walls that keep one where one is. Cell 15 is
/// terminal. Every step earns -1. Features: the cell's indicator.
struct GridWorld {
  static constexpr int width = 4, cells = 16, actions = 4;
  static int step(int cell, int action);
  static bool terminal(int cell) { return cell == cells - 1; }
  /// Values of the uniformly random policy: the solution of v = r + discount P v, zero where terminal.
  static std::vector<double> values(double discount);
};

/// x of A x = b by Gaussian elimination with pivots; `matrix` n x n, row-major. BugError if it is singular.
std::vector<double> solve_linear(std::vector<double> matrix, std::vector<double> b);

}  // namespace dpmpi
