#include "method/minimax/private_diff_theory.hpp"

#include <cmath>

namespace dpmpi {
namespace {

struct Families {
  double restart, difference;
};

// sqrt(A) and sqrt(B): noise of the two families with all of the budget each.
Families families(double T, double rho) { return {std::sqrt(1 / T), rho * (T - 1) / std::sqrt(2 * T)}; }

}  // namespace

double difference_noise_energy(double T, double rho) { return 2 / T + rho * rho * (T - 1) * (T - 1) / T; }

double best_difference_noise_energy(double T, double rho) {
  const auto [a, b] = families(T, rho);
  return (a + b) * (a + b);
}

double best_restart_share(double T, double rho) {
  const auto [a, b] = families(T, rho);
  return a / (a + b);
}

}  // namespace dpmpi
