#pragma once
// Small made-up images: bright bars, upright in every other image.

#include <string>

#include "data/records/options.hpp"
#include "support/binary_files.hpp"

namespace dpmpi::test {

/// Bytes of `count` images of height x width.
inline std::string striped_pixels(std::uint32_t count, std::uint32_t height, std::uint32_t width) {
  std::string bytes;
  for (std::uint32_t i = 0; i < count; ++i)
    for (std::uint32_t y = 0; y < height; ++y)
      for (std::uint32_t x = 0; x < width; ++x)
        bytes +=
            static_cast<char>(((i % 2 == 0 ? x : y) + i / 2) % 4 < 2 ? 200 + (i * 31 + y * 7 + x * 3) % 50 : 10);
  return bytes;
}
/// As IDX files: the images, and labels that say which bars are upright.
inline std::string striped_images(std::uint32_t count, std::uint32_t height, std::uint32_t width) {
  return idx_file(0x08, {count, height, width}, striped_pixels(count, height, width));
}
inline std::string striped_labels(std::uint32_t count) {
  std::string labels;
  for (std::uint32_t i = 0; i < count; ++i) labels += static_cast<char>(i % 2);
  return idx_file(0x08, {count}, labels);
}

}  // namespace dpmpi::test
