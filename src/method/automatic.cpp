#include "method/automatic.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/registry.hpp"

namespace dpmpi {

const std::vector<AutomaticRule>& automatic_rules() { return registered<AutomaticRule>(); }

const AutomaticRule* automatic_rule(const std::string& method) {
  const auto at = std::ranges::find(automatic_rules(), method, &AutomaticRule::name);
  return at == automatic_rules().end() ? nullptr : &*at;
}

AutomaticRegistration::AutomaticRegistration(AutomaticRule rule) { enter(std::move(rule)); }

double two_digits(double x) {
  if (!(x > 0) || !std::isfinite(x)) return x;
  const double unit = std::pow(10, std::floor(std::log10(x)) - 1);
  return unit >= 1 ? std::round(x / unit) * unit : std::round(x / unit) / std::round(1 / unit);
}

double noise_over_signal(const PublicNumbers& numbers, double signal) {
  return std::sqrt(numbers.parameters) / (numbers.records * signal);
}

}  // namespace dpmpi
