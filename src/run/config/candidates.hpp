#pragma once
// The settings that tune.search lists, and the methods that they make.

#include <string>
#include <vector>

#include "method/tuning/tuned_training.hpp"

namespace dpmpi {

/// One for every combination of the listed values, in their order: `method` with these in place of what `settings`
/// say of it. Appends one message per problem, and then what it returns means nothing.
std::vector<TuningCandidate> candidates(const std::string& search, const MethodEntry& method,
                                        const Settings& settings, std::vector<std::string>& problems);

}  // namespace dpmpi
