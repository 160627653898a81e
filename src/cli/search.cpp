#include "cli/search.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"

namespace dpmpi {

void apply_searches(const std::vector<std::string>& searches, std::vector<std::string>& overrides) {
  if (searches.empty()) return;
  if (std::ranges::any_of(overrides, [](const std::string& text) { return text.starts_with("tune.search="); }))
    throw ConfigError("--search and --set tune.search=... list the same: leave out one of them");
  overrides.push_back(fmt::format("tune.search={}", fmt::join(searches, " ")));
}

}  // namespace dpmpi
