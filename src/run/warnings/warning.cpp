#include "run/warnings/warning.hpp"

#include <cstdlib>

#include <fmt/format.h>

namespace dpmpi {

void Findings::add_to(nlohmann::ordered_json& line) const {
  for (const Measure& measure : measures) line[measure.name] = measure.value;
  for (const Warning& warning : warnings) {
    nlohmann::ordered_json entry{{"about", warning.about}, {"text", warning.text}};
    entry.update(warning.numbers);
    line["warnings"].push_back(entry);
  }
}

double three_digits(double value) { return std::strtod(fmt::format("{:.3g}", value).c_str(), nullptr); }

std::string three_digits_text(double value) { return fmt::format("{:.3g}", value); }

std::string percent(double share) {
  if (share > 0.999 && share < 1) return "over 99.9 %";
  if (share < 0.001 && share > 0) return "under 0.1 %";
  return fmt::format("{:.3g} %", 100 * share);
}

}  // namespace dpmpi
