#pragma once
#include <string>
#include <vector>

#include "data/records/options.hpp"

namespace dpmpi {

/// Section [data] with these values, each "data.key=value". Throws ConfigError that lists all problems.
DataOptions data_options(const std::vector<std::string>& overrides);

}  // namespace dpmpi
