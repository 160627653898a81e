#pragma once
// Values that several of the run's JSON files share.

#include <cmath>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "data/records/records.hpp"
#include "privacy/promise/guarantee.hpp"

namespace dpmpi {

using OrderedJson = nlohmann::ordered_json;

/// A member of plan.json that is there, and true, where Plan::hides_times().
inline constexpr const char* secret_times = "secret_times";

/// JSON has no infinity; "infinity" reads as one in every language that has a conversion from text.
inline OrderedJson json_number(double x) { return std::isinf(x) ? OrderedJson("infinity") : OrderedJson(x); }

/// As "dense_f32" in files.
inline const std::map<std::string, Storage>& storages() {
  static const std::map<std::string, Storage> all{
      {"dense_f32", Storage::dense_f32}, {"dense_u8", Storage::dense_u8}, {"sparse_f32", Storage::sparse_f32}};
  return all;
}

/// {"rdp": 1.2, ...}.
inline OrderedJson json_by(const Guarantee& guarantee) {
  auto by = OrderedJson::object();
  for (const auto& [name, bound] : guarantee.by) by[name] = json_number(bound);
  return by;
}

/// [proven minimum, certified maximum].
inline OrderedJson json_interval(const Guarantee& guarantee) {
  return OrderedJson::array({json_number(guarantee.least), json_number(guarantee.epsilon)});
}

/// Members epsilon, delta, by, interval.
inline void put_guarantee(OrderedJson& out, const Guarantee& guarantee) {
  out["epsilon"] = json_number(guarantee.epsilon);
  out["delta"] = guarantee.delta;
  out["by"] = json_by(guarantee);
  out["interval"] = json_interval(guarantee);
}

}  // namespace dpmpi
