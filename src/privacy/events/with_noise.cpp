#include "privacy/events/with_noise.hpp"

#include <utility>
#include <variant>

namespace dpmpi {

std::vector<Event> with_noise(std::vector<Event> events, double factor) {
  for (Event& event : events)
    std::visit(
        [=](auto& m) {
          if constexpr (requires { m.noise_multiplier; }) m.noise_multiplier *= factor;
          if constexpr (requires { m.scale; }) m.scale *= factor;
          if constexpr (requires { m.mu; }) m.mu /= factor;
          if constexpr (requires { m.epsilon; }) m.epsilon /= factor;
          if constexpr (requires { m.rho; }) m.rho /= factor * factor;
          if constexpr (requires { m.run; }) m.run = with_noise(std::move(m.run), factor);
        },
        event.mechanism);
  return events;
}

}  // namespace dpmpi
