#pragma once
// Every member of a JSON text, and what a forger would write in its place.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace dpmpi::test {

/// Every value in it, and every member that holds more of them, once.
inline void each_place(const nlohmann::ordered_json& value, const nlohmann::ordered_json::json_pointer& at,
                       const std::function<void(const nlohmann::ordered_json::json_pointer&)>& use) {
  if (!at.empty()) use(at);
  if (value.is_object())
    for (const auto& [name, member] : value.items()) each_place(member, at / name, use);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i) each_place(value[i], at / i, use);
}

/// Another value of the same type; nothing: it has members.
inline std::optional<nlohmann::ordered_json> flipped(const nlohmann::ordered_json& value) {
  if (value.is_boolean()) return nlohmann::ordered_json(!value.get<bool>());
  if (value.is_string()) {
    std::string text = value.get<std::string>();
    if (text.empty()) return nlohmann::ordered_json("x");
    text.back() = text.back() == 'a' ? 'b' : 'a';
    return nlohmann::ordered_json(text);
  }
  if (value.is_number_integer()) return nlohmann::ordered_json(value.get<std::int64_t>() + 1);
  if (value.is_number_float()) return nlohmann::ordered_json(value.get<double>() * 1.01 + 0.001);
  return {};
}

/// The same number in another writing; nothing: there is none that a reader could take for it.
inline std::optional<nlohmann::ordered_json> rewritten(const nlohmann::ordered_json& value) {
  if (value.is_number_integer()) return nlohmann::ordered_json(value.get<double>());
  if (value.is_number_float() && value == 0.0) return nlohmann::ordered_json(-0.0);
  return {};
}

/// "a.b.0" of "/a/b/0".
inline std::string dotted(const nlohmann::ordered_json::json_pointer& at) {
  std::string name = at.to_string().substr(1);
  std::ranges::replace(name, '/', '.');
  return name;
}

}  // namespace dpmpi::test
