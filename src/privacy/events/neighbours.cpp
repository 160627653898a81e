// The two meanings of neighbours, in files and in words.
#include <optional>
#include <string>
#include <string_view>

#include "privacy/events/event.hpp"

namespace dpmpi {

std::string_view name(Adjacency adjacency) {
  return adjacency == Adjacency::add_remove ? "add_remove" : "replace_one";
}

std::optional<Adjacency> parse_adjacency(std::string_view text) {
  for (const auto adjacency : {Adjacency::add_remove, Adjacency::replace_one})
    if (text == name(adjacency)) return adjacency;
  return std::nullopt;
}

std::string change_between_neighbours(Adjacency adjacency, Unit unit) {
  const bool replace = adjacency == Adjacency::replace_one;
  if (unit == Unit::person)
    return replace ? "replacing one person, with all records, by another"
                   : "adding or removing one person, with all records,";
  return replace ? "replacing one record by another" : "adding or removing one record";
}

}  // namespace dpmpi
