#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dpmpi {

/// What plans call the training of a candidate with these settings, "method.key=value" each.
inline std::string training_name(const std::vector<std::string>& settings) {
  return fmt::format("a training with {}", fmt::join(settings, " "));
}

}  // namespace dpmpi
