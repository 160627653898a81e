#include "objective/layers/windows.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {

Volume Windows::out(const Volume& in, std::size_t channels) const {
  if (in.height + 2 * padding < height || in.width + 2 * padding < width)
    throw ConfigError(fmt::format("a window of {}x{} is larger than an image of {}x{} with a padding of {}", height,
                                  width, in.height, in.width, padding));
  return {channels, (in.height + 2 * padding - height) / stride + 1, (in.width + 2 * padding - width) / stride + 1};
}

std::vector<std::uint32_t> Windows::begins(const Volume& in) const {
  const Volume image = padded(in), windows = out(in, 1);
  std::vector<std::uint32_t> at;
  for (std::size_t y = 0; y < windows.height; ++y)
    for (std::size_t x = 0; x < windows.width; ++x)
      at.push_back(static_cast<std::uint32_t>((y * image.width + x) * stride * image.channels));
  return at;
}

std::vector<std::uint32_t> Windows::places(const Volume& in) const {
  const Volume image = padded(in);
  std::vector<std::uint32_t> at;
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x)
      at.push_back(static_cast<std::uint32_t>((y * image.width + x) * image.channels));
  return at;
}

std::size_t Windows::overlap(const Volume& in) const {
  const Volume windows = out(in, 1);
  const auto side = [this](std::size_t length, std::size_t count) {
    return std::min((length + stride - 1) / stride, count);
  };
  return side(height, windows.height) * side(width, windows.width);
}

Windows windows_of(LayerWords& words, std::optional<std::size_t> stride, bool padded) {
  const auto [height, width] = words.window("window");
  if (!stride && height != width) {
    const auto given = words.after("stride");
    if (!given)
      throw ConfigError(fmt::format("a window of {}x{} needs a stride, for it is no square", height, width));
    return {height, width, *given};
  }
  Windows windows{height, width, words.after("stride").value_or(stride.value_or(height))};
  if (padded) windows.padding = words.after("pad", 0).value_or(0);
  if (windows.padding >= std::min(height, width))
    throw ConfigError(fmt::format("pad is {}; in front of a window of {}x{} it takes at most {}", windows.padding,
                                  height, width, std::min(height, width) - 1));
  return windows;
}

}  // namespace dpmpi
