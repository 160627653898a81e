#pragma once
// What accountants that count the uses of mechanisms do alike.

#include <cstdint>
#include <limits>
#include <map>

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

/// How many runs with hidden iterates there are; `Use` has a count.
template <class Use>
double hidden_runs(const std::map<Mechanism, Use>& uses) {
  double runs = 0;
  for (const auto& [mechanism, use] : uses)
    if (std::holds_alternative<HiddenState>(mechanism)) runs += static_cast<double>(use.count);
  return runs;
}

}  // namespace dpmpi
