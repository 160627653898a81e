#pragma once
// What a model file says of itself: which run made it, and how its records are read.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "run/config/config.hpp"

namespace dpmpi {

/// `certificate`: its SHA-256; `features`: of a record, after preparation; `columns`: the text of the columns file.
std::vector<std::pair<std::string, std::string>> model_metadata(const RunConfig& config,
                                                                const std::string& certificate,
                                                                std::uint64_t features, const std::string& columns);

/// The same for a file that says `written`, if it is honest. It may be of a version that wrote no recipe. Columns
/// count as those of the config's digest, wherever their text stands; where they were prepared, as those that it
/// says.
std::vector<std::pair<std::string, std::string>> expected_metadata(
    const RunConfig& config, const std::string& certificate, std::uint64_t features,
    const std::map<std::string, std::string>& written);

}  // namespace dpmpi
