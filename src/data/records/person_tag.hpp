#pragma once
// Who a person is, in 16 bytes.

#include <compare>
#include <cstdint>
#include <string_view>

namespace dpmpi {

/// The beginning of the SHA-256 of what stands in the column data.person. It is no secret to whoever knows the
/// text, so it leaves a rank only behind a key (load/persons.hpp).
struct PersonTag {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(const PersonTag&) const = default;
};

PersonTag person_tag(std::string_view text);
/// From 32 hexadecimal digits or more.
PersonTag tag_of_digits(std::string_view digits);

}  // namespace dpmpi
