#pragma once
// Words of others in a message: of plugins, of modules, of files.

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace dpmpi {

/// The text (UTF-8) without characters that a terminal obeys: ESC becomes \x1b. Line ends stay.
inline std::string printable(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_control = (byte(i) < 0x20 && text[i] != '\n') || byte(i) == 0x7f;
    const bool is_high_control = byte(i) == 0xc2 && byte(i + 1) >= 0x80 && byte(i + 1) < 0xa0;  // U+0080 to U+009F
    if (is_high_control) ++i;
    if (is_control || is_high_control)
      shown += fmt::format("\\x{:02x}", byte(i));
    else
      shown += text[i];
  }
  return shown;
}

}  // namespace dpmpi
