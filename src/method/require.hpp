#pragma once
// What the plans for heavy tails accept.

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"

namespace dpmpi {

inline void require(bool allowed, std::string_view what, double value, std::string_view range) {
  if (!allowed) throw ConfigError(fmt::format("{} = {}, but it must be {}", what, value, range));
}
inline void require_positive(std::string_view what, double value) {
  require(std::isfinite(value) && value > 0, what, value, "finite and above 0");
}
inline void require_probability(std::string_view what, double value) {
  require(value > 0 && value < 1, what, value, "in (0, 1)");
}
inline void require_count(std::string_view what, double value) {
  require(std::isfinite(value) && value >= 1, what, value, "finite and at least 1");
}

/// All of them at once, if there are any.
inline void refuse(const std::vector<std::string>& problems) {
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
}

}  // namespace dpmpi
