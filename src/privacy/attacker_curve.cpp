#include "dpmpi/privacy/attacker_curve.hpp"

#include <algorithm>
#include <cmath>

#include "dpmpi/privacy/accountant.hpp"
#include "dpmpi/privacy/attack.hpp"

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
    if (name == "gdp") {  // knows the exact curve
      tighten([&](double rate) { return attacker_power(*accountant, rate); });
      continue;
    }
    for (double epsilon = 1.0 / 64; epsilon < 64; epsilon *= std::pow(2, 0.25)) {
      const Guarantee point{.epsilon = epsilon, .delta = accountant->delta(epsilon)};
      tighten([&](double rate) { return attacker_power(point, rate); });
    }
  }
  return found;
}

}  // namespace dpmpi
