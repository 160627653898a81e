#pragma once
// Objectives that tell groups of records apart.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "data/records/records.hpp"

namespace dpmpi {

class TellsGroups {
 public:
  /// The group of record i; nothing if it is in none.
  virtual std::optional<std::size_t> group_of(const Records& records, std::uint32_t i) const = 0;

 protected:
  ~TellsGroups() = default;
};

}  // namespace dpmpi
