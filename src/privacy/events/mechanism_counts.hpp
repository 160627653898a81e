#pragma once
// What accountants that count the uses of mechanisms do alike.

#include <cstdint>
#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

/// Throws PrivacyError, and leaves `count` as it is, if there are more than 2^64 - 1 uses.
inline void add_uses(std::uint64_t& count, const Event& event) {
  if (event.count > std::numeric_limits<std::uint64_t>::max() - count)
    throw PrivacyError(fmt::format("more than 2^64 uses of {}", to_json({event.mechanism, 1})));
  count += event.count;
}

/// The rounds of a run of cyclic samples, each of which is a mechanism by itself; empty for other events. Throws
/// PrivacyError for a malformed event and for more than 2^64 - 1 rounds.
inline std::optional<Event> rounds_of(const Event& event) {
  const auto* run = std::get_if<CyclicPoissonGaussian>(&event.mechanism);
  if (!run || event.count == 0) return std::nullopt;
  check({event.mechanism, 1}, "event");
  if (event.count > std::numeric_limits<std::uint64_t>::max() / run->rounds())
    throw PrivacyError(fmt::format("more than 2^64 rounds of {}", to_json({event.mechanism, 1})));
  return Event{run->round(), event.count * run->rounds()};
}

/// How many runs with hidden iterates there are; `Use` has a count.
template <class Use>
double hidden_runs(const std::map<Mechanism, Use>& uses) {
  double runs = 0;
  for (const auto& [mechanism, use] : uses)
    if (std::holds_alternative<HiddenState>(mechanism)) runs += static_cast<double>(use.count);
  return runs;
}

}  // namespace dpmpi
