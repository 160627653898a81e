#pragma once
// The option --search of commands that read a config: what is chosen among in private.

#include <string>
#include <vector>

namespace dpmpi {

inline constexpr const char* search_help =
    "an option of the method and the values to choose among, in place of tune.search; as often as needed";

/// The lists as one more override, in place of tune.search. Throws ConfigError if an override has lists, too.
void apply_searches(const std::vector<std::string>& searches, std::vector<std::string>& overrides);

}  // namespace dpmpi
