#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "method/minimax/private_diff.hpp"

namespace dpmpi {
namespace {

double distance(std::span<const float> a, std::span<const float> b) {
  double square = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const double d = static_cast<double>(a[j]) - static_cast<double>(b[j]);
    square += d * d;
  }
  return std::sqrt(square);
}

struct Families {
  double restart, difference;
};

// sqrt(A) and sqrt(B): noise of the two families with all of the budget each.
Families families(double T, double rho) { return {std::sqrt(1 / T), rho * (T - 1) / std::sqrt(2 * T)}; }

}  // namespace

double DifferenceRadius::between(std::span<const float> w, std::span<const float> v, std::size_t primal_dim) const {
  const double dx = distance(w.first(primal_dim), v.first(primal_dim));
  const double dy = distance(w.subspan(primal_dim), v.subspan(primal_dim));
  const double radius = slope * dx + dual_slope * dy + least;
  if (std::isnan(radius)) return most;
  return std::max(std::min(radius, most), 0.5e-9 * most);
}

void PrivateDiffSettings::declare(Options& options) {
  const Range shares = Range::closed(1e-9, 1e9);  // noise goes with their roots
  common.declare(options);
  options
      .add("restart", restart, "rounds T from one full gradient to the next (1: alternating dp-sgda)",
           Range::closed(1, 0x1p40))
      .add("dual_steps", dual_steps, "dual steps T_2 of a round, each with a batch of its own",
           Range::closed(1, 0x1p20))
      .add("restart_share", restart_share, "share of the noise budget of full gradients", shares)
      .add("difference_share", difference_share, "share of gradient differences", shares)
      .add("dual_share", dual_share, "share of dual steps", shares)
      .add(
          "difference_slope", slope,
          "C_2: differences are clipped at C_2 |x - x'| + C_2y |y - y'| + C_3 (if not set: the objective's l_xx, or method.clip)",
          Range::non_negative())
      .add("difference_dual_slope", dual_slope, "C_2y (if not set: the objective's l_xy, or C_2)",
           Range::non_negative())
      .add("difference_least", least, "C_3 (if not set: 0.01 method.clip)", Range::non_negative());
}

void PrivateDiffSettings::validate(std::vector<std::string>& problems) const {
  common.validate(problems);
  if (common.dual_schedule == SaddleSettings::DualSchedule::closed_form && dual_steps > 1)
    problems.emplace_back("method.dual_schedule = closed_form is exact in one step: set method.dual_steps = 1");
}

DifferenceRadius PrivateDiffSettings::radius(const SaddleObjective& f) const {
  const auto known = f.smooth_constants();
  const double c2 = slope >= 0 ? slope : known ? known->l_xx : common.clip;
  return {.slope = c2,
          .dual_slope = dual_slope >= 0 ? dual_slope
                        : known         ? known->l_xy
                                        : c2,
          .least = least >= 0 ? least : 0.01 * common.clip,
          .most = 2 * common.clip};
}

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
