#pragma once
// What somebody may have meant by a key that their config cannot have.

#include <string>
#include <vector>

namespace dpmpi {

/// "did you mean method.rate?" for method.learning_rate, "it is an option of dp-sgd" for the key of another method,
/// or both, separated by "; ". `known` are the keys that the config can have. If nothing is near: how to list the
/// keys of the section, with the names of the config's method and objective, or the sections.
std::string hint_for(const std::string& key, const std::vector<std::string>& known, const std::string& method,
                     const std::string& objective);

}  // namespace dpmpi
