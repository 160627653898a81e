#pragma once
// The windows of an image that convolutions and pools look at.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "objective/layers/kinds.hpp"

namespace dpmpi {

/// Windows of height x width every `stride` positions, in an image with `padding` zeros around it.
struct Windows {
  std::size_t height, width, stride = 1, padding = 0;

  std::size_t positions() const { return height * width; }
  /// Throws ConfigError if a window is larger than the image.
  Volume out(const Volume& in, std::size_t channels) const;

  /// The image with its zeros.
  Volume padded(const Volume& in) const { return {in.channels, in.height + 2 * padding, in.width + 2 * padding}; }
  /// Where in the padded image the windows begin.
  std::vector<std::uint32_t> begins(const Volume& in) const;
  /// How far the positions of a window are from its beginning, row by row.
  std::vector<std::uint32_t> places(const Volume& in) const;
};

/// HEIGHTxWIDTH [stride S] [pad P]; without a stride: `stride`, or that of windows which do not overlap.
Windows windows_of(LayerWords& words, std::optional<std::size_t> stride, bool padded);

}  // namespace dpmpi
