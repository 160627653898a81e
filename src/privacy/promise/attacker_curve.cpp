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

}  // namespace dpmpi
