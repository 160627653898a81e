#include "data/records/person_tag.hpp"

#include <charconv>

#include "core/errors.hpp"
#include "core/files/digest.hpp"

namespace dpmpi {

PersonTag tag_of_digits(std::string_view digits) {
  verify(digits.size() >= 32, "a tag is 32 hexadecimal digits");
  PersonTag tag;
  std::from_chars(digits.data(), digits.data() + 16, tag.high, 16);
  std::from_chars(digits.data() + 16, digits.data() + 32, tag.low, 16);
  return tag;
}

PersonTag person_tag(std::string_view text) { return tag_of_digits(sha256(text)); }

}  // namespace dpmpi
