#pragma once
#include <string_view>

namespace dpmpi {

/// Without the blanks and line ends at both ends.
inline std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace dpmpi
