#include "core/files/image.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <zlib.h>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

constexpr std::uint8_t line_between = 128;

std::string big_endian(std::size_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
  return bytes;
}

std::string chunk(std::string_view type, std::string_view data) {
  const std::string body = std::string(type) + std::string(data);
  const auto check = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(data.size()) + body + big_endian(check);
}

std::string compressed(std::string_view bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string to(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(to.data()), &size,
                             reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()), 9);
  verify(code == Z_OK, "zlib compresses what it has the room for");
  to.resize(size);
  return to;
}

std::uint8_t grey(float value) {
  if (std::isnan(value)) return 0;
  return static_cast<std::uint8_t>(std::lround((std::clamp(value, -1.0F, 1.0F) + 1) * 127.5F));
}

}  // namespace

std::string png(const GreyImage& image) {
  verify(image.width > 0 && image.height > 0 && image.pixels.size() == image.width * image.height,
         "an image has as many pixels as its size says");
  std::string rows;
  for (std::size_t y = 0; y < image.height; ++y) {
    rows += '\0';  // the filter of the row: none
    rows.append(reinterpret_cast<const char*>(image.pixels.data()) + y * image.width, image.width);
  }
  const std::string grey_of_8_bits{8, 0, 0, 0, 0};
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", big_endian(image.width) + big_endian(image.height) + grey_of_8_bits) +
         chunk("IDAT", compressed(rows)) + chunk("IEND", "");
}

GreyImage sheet(const std::vector<float>& values, std::size_t count, std::size_t rows, std::size_t columns,
                std::size_t across) {
  verify(count > 0 && across > 0 && values.size() == count * rows * columns,
         "a sheet has the pixels of its pictures");
  const std::size_t down = (count + across - 1) / across;
  GreyImage image{across * (columns + 1) - 1, down * (rows + 1) - 1, {}};
  image.pixels.assign(image.width * image.height, line_between);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t y = 0; y < rows; ++y)
      for (std::size_t x = 0; x < columns; ++x)
        image.pixels[(i / across * (rows + 1) + y) * image.width + i % across * (columns + 1) + x] =
            grey(values[(i * rows + y) * columns + x]);
  return image;
}

}  // namespace dpmpi
