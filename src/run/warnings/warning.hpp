#pragma once
// What a look at the public records of data.eval finds: numbers for metrics, and warnings for people.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "objective/capabilities.hpp"

namespace dpmpi {

struct Warning {
  std::string about;  ///< a word for programs: scales, clip, constant, divergence
  std::string text;   ///< for people: what is seen, what follows from it, what to do
  nlohmann::ordered_json numbers = nlohmann::ordered_json::object();  ///< that the text speaks of
};

struct Findings {
  std::vector<Measure> measures;
  std::vector<Warning> warnings;

  /// Adds members to a line of metrics.jsonl: the measures by their names, and `warnings` if there is one.
  void add_to(nlohmann::ordered_json& line) const;
};

/// To three significant digits, as people are shown them.
double three_digits(double value);
std::string three_digits_text(double value);
/// A share as "12.5 %"; what is not all and not nothing is never shown as such.
std::string percent(double share);

}  // namespace dpmpi
