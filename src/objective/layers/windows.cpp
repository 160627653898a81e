#include "objective/layers/windows.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {

Volume Windows::out(const Volume& in, std::size_t channels) const {
  if (in.height + 2 * padding < height || in.width + 2 * padding < width)
    throw ConfigError(fmt::format("a window of {}x{} is larger than an image of {}x{} with a padding of {}", height,
                                  width, in.height, in.width, padding));
  return {channels, (in.height + 2 * padding - height) / stride + 1, (in.width + 2 * padding - width) / stride + 1};
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
