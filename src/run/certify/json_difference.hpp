#pragma once
// Where two JSON values differ.

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace dpmpi {

struct JsonDifference {
  std::string member;   ///< "events[0].sampling_rate"
  std::string problem;  ///< "is 0.0016, but config.ini gives 0.1"
};

/// The first member of `stated` that is not what is `expected` by `source`, is missing or is more than that. Whole
/// numbers and texts are compared exactly; other numbers up to their last digits, which may differ between
/// processors.
std::optional<JsonDifference> first_difference(const nlohmann::json& stated, const nlohmann::json& expected,
                                               const std::string& source);

}  // namespace dpmpi
