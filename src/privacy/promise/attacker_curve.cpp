#include "privacy/promise/attacker_curve.hpp"

#include <algorithm>
#include <cmath>

#include "privacy/accountants/accountant.hpp"
#include "privacy/promise/attacker_power.hpp"

namespace dpmpi {

std::vector<double> attacker_curve(const std::vector<Event>& events, Adjacency adjacency,
                                   const Guarantee& guarantee, const std::vector<double>& rates) {
  std::vector<double> found(rates.size(), 1);
  const auto tighten = [&](auto&& power) {
    for (std::size_t i = 0; i < rates.size(); ++i) found[i] = std::min(found[i], power(rates[i]));
  };
  tighten([&](double rate) { return attacker_power(guarantee, rate); });
  for (const auto& [name, bound] : guarantee.by) {
    if (std::isinf(bound)) continue;
    const auto accountant = make_accountant(name, adjacency);
    accountant->compose(events);
    if (name == "pld") {  // every point is a convolution
      const auto at = [&](const Guarantee& point) {
        tighten([&](double rate) { return attacker_power(point, rate); });
      };
      for (const double delta : {1e-4, 1e-3, 1e-2, 1e-1})
        at({.epsilon = accountant->epsilon(delta), .delta = delta});
      for (const double epsilon : {0.01, 0.5}) at({.epsilon = epsilon, .delta = accountant->delta(epsilon)});
      continue;
    }
    tighten([&](double rate) { return attacker_power(*accountant, rate); });
  }
  return found;
}

// (1 + d) / 2 for the distance d of the two laws in total variation, which is delta at epsilon 0. By one (epsilon,
// delta) it is at most (e^epsilon - 1 + 2 delta) / (e^epsilon + 1) (Kairouz, Oh and Viswanath 2015).
double right_guesses(const std::vector<Event>& events, Adjacency adjacency, const Guarantee& guarantee) {
  double distance = 1;
  if (std::isfinite(guarantee.epsilon))
    distance = std::tanh(guarantee.epsilon / 2) + 2 * guarantee.delta / (std::exp(guarantee.epsilon) + 1);
  for (const auto& [name, bound] : guarantee.by) {
    if (std::isinf(bound)) continue;
    const auto accountant = make_accountant(name, adjacency);
    accountant->compose(events);
    distance = std::min(distance, accountant->delta(0));
  }
  constexpr double rounding = 1 + 1e-14;
  return std::min(1.0, (1 + distance) / 2 * rounding);
}

}  // namespace dpmpi
