#include "dpmpi/privacy/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/privacy/accountant.hpp"
#include "dpmpi/privacy/rdp.hpp"

namespace dpmpi {

namespace {

constexpr double least_noise = 1e-3, most_noise = 1e7;

// Smallest value >= x that has 6 decimals, or more where x has fewer than 7 significant digits by then.
double round_up(double x) {
  const double unit = std::pow(10.0, std::max(6.0, 6 - std::floor(std::log10(x))));
  const double rounded = std::ceil(x * unit) / unit;
  return rounded >= x ? rounded : (std::ceil(x * unit) + 1) / unit;
}

double next_up(double x) { return round_up(std::nextafter(x, std::numeric_limits<double>::infinity())); }

// An interval whose upper end keeps the target and whose lower end does not, in the logarithm of the noise.
struct Bracket {
  double low, low_excess;    // excess: log(epsilon / target), > 0 at low
  double high, high_excess;  // <= 0 at high
};

}  // namespace

double smallest_noise(const std::function<double(double)>& epsilon_of, double epsilon, double low, double high) {
  const auto excess = [&](double log_noise) {
    const double e = epsilon_of(std::exp(log_noise));
    return e <= epsilon ? std::min(0.0, std::log(std::max(e, 1e-300) / epsilon)) : std::log(e / epsilon);
  };
  // Outward from noise 1 (or the nearest end) by growing factors until the target lies between two values.
  const double first = std::log(std::clamp(1.0, low, high)), floor = std::log(low), ceiling = std::log(high);
  Bracket b{first, excess(first), first, 0};
  b.high_excess = b.low_excess;
  for (double stride = 0.7; b.high_excess > 0; stride *= 2) {
    if (b.high >= ceiling) return std::numeric_limits<double>::infinity();
    b.low = b.high, b.low_excess = b.high_excess;
    b.high = std::min(ceiling, b.high + stride), b.high_excess = excess(b.high);
  }
  for (double stride = 0.7; b.low_excess <= 0; stride *= 2) {
    b.high = b.low, b.high_excess = b.low_excess;
    if (b.low <= floor) break;
    b.low = std::max(floor, b.low - stride), b.low_excess = excess(b.low);
  }

  // Illinois regula falsi on logarithms (epsilon is nearly a power of the noise), with a bisection where it is
  // slow.
  for (int i = 0; b.high - b.low > 1e-9; ++i) {
    const double width = b.high - b.low;
    double x = b.low + width * b.low_excess / (b.low_excess - b.high_excess);
    if (!std::isfinite(x) || i % 4 == 3) x = b.low + width / 2;
    x = std::clamp(x, b.low + 4e-10, b.high - 4e-10);
    const double e = excess(x);
    if (e <= 0) {
      b.high = x, b.high_excess = e, b.low_excess /= 2;
    } else {
      b.low = x, b.low_excess = e, b.high_excess /= 2;
    }
  }
  double noise = round_up(std::exp(b.high));
  while (noise <= high && !(epsilon_of(noise) <= epsilon)) noise = next_up(noise);  // rounding of exp and log only
  return noise <= high ? noise : std::numeric_limits<double>::infinity();
}

double calibrate_noise(const EventsOfNoise& events, const PrivacyTarget& target) {
  if (!(std::isfinite(target.epsilon) && target.epsilon > 0))
    throw PrivacyError(fmt::format("target epsilon is {}, allowed: a finite number > 0", target.epsilon));
  if (!(target.delta > 0 && target.delta < 1))
    throw PrivacyError(fmt::format("target delta is {}, allowed: a number in (0, 1)", target.delta));

  const auto compose = [&](double noise, std::vector<double> orders) {
    RdpAccountant accountant(target.adjacency, std::move(orders));
    accountant.compose(events(noise));
    return accountant;
  };
  const auto solve = [&](const std::vector<double>& orders, double high) {
    return smallest_noise([&](double noise) { return compose(noise, orders).epsilon(target.delta); },
                          target.epsilon, least_noise, high);
  };

  // Fewer orders give a larger epsilon, hence enough noise. Solve on a coarse grid, then around the order that is
  // best on the full one, until that order is among those solved for.
  const std::vector<double>& all = rdp_orders();
  std::vector<double> orders;
  for (std::size_t i = 0; i < all.size(); i += 1 + i / 8) orders.push_back(all[i]);
  orders.push_back(all.back());
  double noise = solve(orders, most_noise);
  if (!std::isfinite(noise)) noise = solve(all, most_noise);
  if (!std::isfinite(noise))
    throw PrivacyError(
        fmt::format("epsilon {} at delta {} under {} cannot be reached: with noise multiplier {} epsilon is still "
                    "{:.6g}. Part of the "
                    "plan does not get more private with more noise, or delta is too small for such an epsilon",
                    target.epsilon, target.delta, name(target.adjacency), most_noise,
                    compose(most_noise, all).epsilon(target.delta)));

  for (int round = 0; round < 8; ++round) {
    const double best = compose(noise, all).best_order(target.delta);
    if (std::find(orders.begin(), orders.end(), best) != orders.end()) break;
    const auto at = std::find(all.begin(), all.end(), best) - all.begin();
    if (at == std::ssize(all)) break;  // a real order: linear curves are converted without a grid
    orders.assign(all.begin() + std::max<std::ptrdiff_t>(0, at - 4),
                  all.begin() + std::min<std::ptrdiff_t>(std::ssize(all), at + 5));
    noise = solve(orders, noise);
  }
  const double reached = compose(noise, all).epsilon(target.delta);
  verify(reached <= target.epsilon, "calibrated noise keeps the target");
  return noise;
}

}  // namespace dpmpi
