#pragma once
// What a promise protects.

#include <string_view>

namespace dpmpi {

/// What differs between neighbours: one slot of the data.
enum class Unit {
  record,  ///< one record
  person,  ///< one person, with all records (data.person)
};
inline constexpr std::string_view name(Unit unit) { return unit == Unit::person ? "person" : "record"; }
inline constexpr std::string_view plural(Unit unit) { return unit == Unit::person ? "persons" : "records"; }

}  // namespace dpmpi
