#pragma once
// Settings that a config leaves to the program: method.rate = auto. They are taken out before options are read, and
// run/suggest puts numbers in their place before anything is planned; so nothing else ever sees the word.

#include <string>
#include <vector>

#include "core/options.hpp"
#include "method/automatic.hpp"

namespace dpmpi {

inline constexpr const char* automatic_word = "auto";

/// `settings` without those that are automatic, whose names ("method.batch") are appended to `taken`. Appends a
/// problem for each that cannot be.
Settings without_automatic(const Settings& settings, const std::string& method, std::vector<std::string>& taken,
                           std::vector<std::string>& problems);

}  // namespace dpmpi
