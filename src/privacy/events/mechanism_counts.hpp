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

/// `count` times `rounds`. Throws PrivacyError if that is more than 2^64 - 1.
inline std::uint64_t times_rounds(const Event& event, std::uint64_t rounds) {
  if (event.count > std::numeric_limits<std::uint64_t>::max() / rounds)
    throw PrivacyError(fmt::format("more than 2^64 rounds of {}", to_json({event.mechanism, 1})));
  return event.count * rounds;
}

/// A step of several, or several steps in parts of the epoch: one of steps / selected in each, and where that is
/// one, in this (docs/theory/random_allocation.md).
inline Event parts_of(const RandomAllocationGaussian& m, std::uint64_t count) {
  const std::uint64_t steps = m.steps / m.selected;
  if (steps == 1) return {Gaussian{m.noise_multiplier}, count};
  return {RandomAllocationGaussian{steps, 1, m.noise_multiplier}, count};
}

/// What a run or an epoch of several rounds is made of, each of which is a mechanism by itself; empty for other
/// events. Throws PrivacyError for a malformed event and for more than 2^64 - 1 rounds.
inline std::optional<Event> rounds_of(const Event& event) {
  const auto* run = std::get_if<CyclicPoissonGaussian>(&event.mechanism);
  const auto* epoch = std::get_if<RandomAllocationGaussian>(&event.mechanism);
  if (epoch && epoch->selected == 1 && epoch->steps > 1) epoch = nullptr;
  if (event.count == 0 || !(run || epoch)) return std::nullopt;
  check({event.mechanism, 1}, "event");
  if (run) return Event{run->round(), times_rounds(event, run->rounds())};
  return parts_of(*epoch, times_rounds(event, epoch->selected));
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
