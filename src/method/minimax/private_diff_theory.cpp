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

double PaperNoise::dp_sgda(double steps) const {
  return 8 * batch * std::sqrt(steps * std::log(1 / delta)) / (records * epsilon);
}

double PaperNoise::private_diff(double count) const {
  return 4 * batch * std::sqrt(count * std::log(1 / delta)) / (records * epsilon);
}

double PaperNoise::dual_deviation(double rounds, double clip, double smoothness, double loss_bound,
                                  double concavity) const {
  return 4 * (2 * clip * clip + smoothness * loss_bound) * std::sqrt(rounds * std::log(1 / delta)) /
         (concavity * records * epsilon);
}

}  // namespace dpmpi
