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

  /// How many windows have a position in common, at most.
  std::size_t overlap(const Volume& in) const;

  /// Says what windows of x are made into, as LayerPlan::write does, by a function of images.
  template <class Make>
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& before,
                           const Volume& behind, Make&& make) const {
    const bool list = before.positions() == 1;
    const ScoreWriter::Value image =
        make(list ? writer.reshape(x, {before.channels, 1, 1}) : x, WindowShape{height, width, stride, padding});
    return behind.positions() == 1 ? writer.reshape(image, {behind.channels}) : image;
  }
};

/// HEIGHTxWIDTH [stride S] [pad P]; without a stride: `stride`, or that of windows which do not overlap.
Windows windows_of(LayerWords& words, std::optional<std::size_t> stride, bool padded);

}  // namespace dpmpi
