#pragma once
// "~" in paths of a config, which no shell has seen.

#include <cstdlib>
#include <string>

namespace dpmpi {

/// `path` with the user's home in place of a leading "~" or "~/"; as it is without one, or if $HOME is not set.
inline std::string expand_home(const std::string& path) {
  const char* const home = std::getenv("HOME");
  if (home == nullptr || path.empty() || path[0] != '~' || (path.size() > 1 && path[1] != '/')) return path;
  return home + path.substr(1);
}

}  // namespace dpmpi
