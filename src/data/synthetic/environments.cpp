#include "data/synthetic/environments.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

constexpr double pi = std::numbers::pi;

/// Taylor sums of sin and cos for |x| <= pi / 4, where ten terms are exact to a rounding.
double sin_near_zero(double x) {
  double sum = 1;
  for (int k = 19; k > 1; k -= 2) sum = 1 - sum * (x * x) / (k * (k - 1.0));
  return x * sum;
}
double cos_near_zero(double x) {
  double sum = 1;
  for (int k = 20; k > 0; k -= 2) sum = 1 - sum * (x * x) / (k * (k - 1.0));
  return sum;
}

/// x less a multiple of pi / 2, in two parts; sin of x + shift quarters.
double sin_shifted(double x, int shift) {
  constexpr double high = 0x1.921fb544p+0, low = 0x1.0b4611a626331p-34;  // pi / 2
  const double quarters = std::nearbyint(x / (pi / 2));
  const double rest = (x - quarters * high) - quarters * low;
  switch ((static_cast<int>(quarters) + shift) & 3) {
    case 0:
      return sin_near_zero(rest);
    case 1:
      return cos_near_zero(rest);
    case 2:
      return -sin_near_zero(rest);
    default:
      return -cos_near_zero(rest);
  }
}

/// Time derivatives of the acrobot: masses, lengths and moments of inertia 1, centres of mass at 1/2.
Acrobot::State acrobot_rates(const Acrobot::State& s, double torque) {
  constexpr double m1 = 1, m2 = 1, l1 = 1, c1 = 0.5, c2 = 0.5, I1 = 1, I2 = 1, g = 9.8;
  const auto [theta1, theta2, rate1, rate2] = s;
  const double cos2 = portable_cos(theta2), sin2 = portable_sin(theta2);
  const double d1 = m1 * c1 * c1 + m2 * (l1 * l1 + c2 * c2 + 2 * l1 * c2 * cos2) + I1 + I2;
  const double d2 = m2 * (c2 * c2 + l1 * c2 * cos2) + I2;
  const double phi2 = m2 * c2 * g * portable_cos(theta1 + theta2 - pi / 2);
  const double phi1 = -m2 * l1 * c2 * rate2 * rate2 * sin2 - 2 * m2 * l1 * c2 * rate2 * rate1 * sin2 +
                      (m1 * c1 + m2 * l1) * g * portable_cos(theta1 - pi / 2) + phi2;
  const double turn2 =
      (torque + d2 / d1 * phi1 - m2 * l1 * c2 * rate1 * rate1 * sin2 - phi2) / (m2 * c2 * c2 + I2 - d2 * d2 / d1);
  return {rate1, rate2, -(d2 * turn2 + phi1) / d1, turn2};
}

Acrobot::State plus(const Acrobot::State& s, double factor, const Acrobot::State& change) {
  Acrobot::State sum = s;
  for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += factor * change[j];
  return sum;
}

double wrapped(double angle) {
  while (angle > pi) angle -= 2 * pi;
  while (angle < -pi) angle += 2 * pi;
  return angle;
}

}  // namespace

double portable_sin(double x) { return sin_shifted(x, 0); }
double portable_cos(double x) { return sin_shifted(x, 1); }

CartPole::State CartPole::step(const State& s, int action) {
  constexpr double g = 9.8, cart = 1, pole = 0.1, half_length = 0.5, total = cart + pole, dt = 0.02;
  const auto [x, speed, angle, turn] = s;
  const double force = action == 1 ? 10 : -10;
  const double cos = portable_cos(angle), sin = portable_sin(angle);
  const double push = (force + pole * half_length * turn * turn * sin) / total;
  const double turn_rate = (g * sin - cos * push) / (half_length * (4.0 / 3 - pole * cos * cos / total));
  const double acceleration = push - pole * half_length * turn_rate * cos / total;
  return {x + dt * speed, speed + dt * acceleration, angle + dt * turn, turn + dt * turn_rate};
}

bool CartPole::terminal(const State& s) { return std::abs(s[0]) > 2.4 || std::abs(s[2]) > 12 * pi / 180; }

std::array<double, 4> CartPole::features(const State& s) {
  return {s[0] / 2.4, s[1] / 3, s[2] / 0.2095, s[3] / 3.5};
}

Acrobot::State Acrobot::step(const State& s, int action) {
  constexpr double dt = 0.2;
  const double torque = action - 1;
  const State k1 = acrobot_rates(s, torque), k2 = acrobot_rates(plus(s, dt / 2, k1), torque),
              k3 = acrobot_rates(plus(s, dt / 2, k2), torque), k4 = acrobot_rates(plus(s, dt, k3), torque);
  State next = s;
  for (std::size_t j = 0; j < next.size(); ++j) next[j] += dt / 6 * (k1[j] + 2 * k2[j] + 2 * k3[j] + k4[j]);
  return {wrapped(next[0]), wrapped(next[1]), std::clamp(next[2], -4 * pi, 4 * pi),
          std::clamp(next[3], -9 * pi, 9 * pi)};
}

bool Acrobot::terminal(const State& s) { return -portable_cos(s[0]) - portable_cos(s[0] + s[1]) > 1; }

std::array<double, 6> Acrobot::features(const State& s) {
  return {portable_cos(s[0]), portable_sin(s[0]), portable_cos(s[1]),
          portable_sin(s[1]), s[2] / (4 * pi),    s[3] / (9 * pi)};
}

int GridWorld::step(int cell, int action) {
  const int row = cell / width, column = cell % width;
  if (action == 0) return row > 0 ? cell - width : cell;
  if (action == 1) return column + 1 < width ? cell + 1 : cell;
  if (action == 2) return row + 1 < width ? cell + width : cell;
  return column > 0 ? cell - 1 : cell;
}

std::vector<double> GridWorld::values(double discount) {
  std::vector<double> matrix(cells * cells, 0.0), reward(cells, -1.0);
  for (int cell = 0; cell < cells; ++cell) {
    double* row = matrix.data() + cell * cells;
    row[cell] = 1;
    if (terminal(cell)) {
      reward[static_cast<std::size_t>(cell)] = 0;
      continue;
    }
    for (int action = 0; action < actions; ++action) row[step(cell, action)] -= discount / actions;
  }
  return solve_linear(std::move(matrix), std::move(reward));
}

std::vector<double> solve_linear(std::vector<double> matrix, std::vector<double> b) {
  const std::size_t n = b.size();
  const auto at = [&](std::size_t i, std::size_t j) -> double& { return matrix[i * n + j]; };
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(at(i, k)) > std::abs(at(pivot, k))) pivot = i;
    verify(at(pivot, k) != 0, "the matrix is not singular");
    for (std::size_t j = 0; j < n; ++j) std::swap(at(k, j), at(pivot, j));
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = at(i, k) / at(k, k);
      for (std::size_t j = k; j < n; ++j) at(i, j) -= factor * at(k, j);
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= at(k, j) * b[j];
    b[k] /= at(k, k);
  }
  return b;
}

}  // namespace dpmpi
