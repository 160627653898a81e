#pragma once
// Reads grey PNG files of 8 bits a pixel without filters or interlacing, checking every chunk, independently of
// what writes them.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

#include "core/files/image.hpp"

namespace dpmpi::test {

/// The remainder of the bits of `bytes` by the polynomial of ISO 3309, bit after bit.
inline std::uint32_t cyclic_check(std::string_view bytes) {
  std::uint32_t state = 0xffffffff;
  for (const char byte : bytes) {
    state ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~state;
}

/// Throws std::runtime_error where the file is not what it must be.
inline GreyImage read_png(std::string_view file) {
  const auto require = [](bool condition, const char* what) {
    if (!condition) throw std::runtime_error(what);
  };
  const auto take = [&](std::size_t count) {
    require(file.size() >= count, "the file is cut off");
    const std::string_view part = file.substr(0, count);
    file.remove_prefix(count);
    return part;
  };
  const auto number = [&](std::string_view bytes) {
    std::uint32_t value = 0;
    for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
    return value;
  };
  require(take(8) == "\x89PNG\r\n\x1a\n", "the signature");
  GreyImage image;
  std::string data;
  std::string order;
  while (!file.empty()) {
    const std::uint32_t length = number(take(4));
    require(file.size() >= length + 8, "the file is cut off");
    const std::string_view typed = file.substr(0, length + 4);
    const std::string_view type = take(4), body = take(length);
    require(number(take(4)) == cyclic_check(typed), "a chunk's check");
    order += type;
    if (type == "IHDR") {
      require(length == 13 && body.substr(8) == std::string_view("\x08\0\0\0\0", 5), "8 bits of grey");
      image.width = number(body.substr(0, 4)), image.height = number(body.substr(4, 4));
    }
    if (type == "IDAT") data += body;
  }
  require(order == "IHDRIDATIEND", "the order of chunks");
  std::vector<std::uint8_t> rows((image.width + 1) * image.height + 1);
  uLongf size = static_cast<uLongf>(rows.size());
  require(uncompress(rows.data(), &size, reinterpret_cast<const Bytef*>(data.data()),
                     static_cast<uLong>(data.size())) == Z_OK &&
              size + 1 == rows.size(),
          "the pixels are as many as the header says");
  for (std::size_t y = 0; y < image.height; ++y) {
    const auto row = rows.begin() + static_cast<std::ptrdiff_t>(y * (image.width + 1));
    require(*row == 0, "no filter");
    image.pixels.insert(image.pixels.end(), row + 1, row + 1 + static_cast<std::ptrdiff_t>(image.width));
  }
  return image;
}

}  // namespace dpmpi::test
