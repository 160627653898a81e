#include "run/certify/json_difference.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/files/untrusted_json.hpp"

namespace dpmpi {
namespace {

using nlohmann::json;

// 500 and 500.0, 0.0 and -0.0 are different writings.
bool same_leaf(const json& stated, const json& expected) {
  if (stated.is_number_float() != expected.is_number_float()) return false;
  if (!stated.is_number_float()) return stated == expected;
  const double a = stated.get<double>(), b = expected.get<double>();
  return std::signbit(a) == std::signbit(b) && std::abs(a - b) <= 1e-9 * std::abs(b);
}

// Messages quote a value, not a file.
std::string quoted(const json& value) {
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= 300 ? text : text.substr(0, 300) + "...";
}

class Comparison {
 public:
  explicit Comparison(std::string source) : source_(std::move(source)) {}

  std::optional<JsonDifference> values(const std::string& place, const json& stated, const json& expected) const {
    if (stated.is_object() && expected.is_object()) return members(place, stated, expected);
    if (stated.is_array() && expected.is_array() && stated.size() == expected.size())
      return elements(place, stated, expected);
    if (same_leaf(stated, expected)) return {};
    return JsonDifference{place, fmt::format("is {}, but {} gives {}", quoted(stated), source_, quoted(expected))};
  }

 private:
  std::optional<JsonDifference> members(const std::string& place, const json& stated, const json& expected) const {
    const auto at = [&](const std::string& name) { return (place.empty() ? "" : place + ".") + shown_name(name); };
    for (const auto& [name, value] : expected.items()) {
      const auto found = stated.find(name);
      if (found == stated.end()) return JsonDifference{at(name), "missing"};
      if (auto difference = values(at(name), *found, value)) return difference;
    }
    for (const auto& [name, value] : stated.items())
      if (!expected.contains(name))
        return JsonDifference{at(name), fmt::format("is {}, but {} gives no such member", quoted(value), source_)};
    return {};
  }
  std::optional<JsonDifference> elements(const std::string& place, const json& stated, const json& expected) const {
    for (std::size_t i = 0; i < stated.size(); ++i)
      if (auto difference = values(fmt::format("{}[{}]", place, i), stated[i], expected[i])) return difference;
    return {};
  }

  std::string source_;
};

}  // namespace

std::optional<JsonDifference> first_difference(const json& stated, const json& expected,
                                               const std::string& source) {
  return Comparison(source).values("", stated, expected);
}

}  // namespace dpmpi
