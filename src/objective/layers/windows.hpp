#pragma once
// The windows of an image that convolutions and pools look at.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

#include "objective/layers/kinds.hpp"

namespace dpmpi {

/// A call of memcpy would cost more than the few numbers that runs have.
template <class T>
void copy_run(const T* from, std::size_t count, T* to) {
  constexpr std::size_t chunk = 8;
  std::size_t j = 0;
  for (; j + chunk <= count; j += chunk) std::memcpy(to + j, from + j, chunk * sizeof(T));
  for (; j < count; ++j) to[j] = from[j];
}

/// Windows of height x width every `stride` positions, in an image with `padding` zeros around it.
struct Windows {
  std::size_t height, width, stride = 1, padding = 0;

  std::size_t positions() const { return height * width; }
  /// Throws ConfigError if a window is larger than the image.
  Volume out(const Volume& in, std::size_t channels) const;

  /// Calls visit(window, place in the window, position in the image, how many) for runs of positions of each
  /// window that are in the image, one beside the other.
  template <class Visit>
  void for_each_run(const Volume& in, const Volume& out, Visit&& visit) const {
    for (std::size_t oy = 0, window = 0; oy < out.height; ++oy)
      for (std::size_t ox = 0; ox < out.width; ++ox, ++window) {
        const std::size_t left = ox * stride, from = left < padding ? padding - left : 0;
        const std::size_t end = std::min(width, in.width + padding - std::min(in.width + padding, left));
        for (std::size_t ky = 0; ky < height && from < end; ++ky) {
          const std::size_t y = oy * stride + ky;
          if (y < padding || y >= in.height + padding) continue;
          visit(window, ky * width + from, (y - padding) * in.width + left + from - padding, end - from);
        }
      }
  }

  /// Copies each window to a row of its own, `stride_of_rows` apart; what lies outside the image is left as it
  /// is.
  template <class T>
  void unfold(const Volume& in, const Volume& out, const T* from, T* to, std::size_t stride_of_rows) const {
    for_each_run(in, out, [&](std::size_t window, std::size_t place, std::size_t position, std::size_t count) {
      copy_run(from + position * in.channels, count * in.channels,
               to + window * stride_of_rows + place * in.channels);
    });
  }
  /// The transpose: adds the rows up where they come from.
  template <class T>
  void fold(const Volume& in, const Volume& out, const T* from, std::size_t stride_of_rows, T* to) const {
    std::fill_n(to, in.size(), T{0});
    for_each_run(in, out, [&](std::size_t window, std::size_t place, std::size_t position, std::size_t count) {
      const T* const row = from + window * stride_of_rows + place * in.channels;
      T* const sum = to + position * in.channels;
      for (std::size_t j = 0; j < count * in.channels; ++j) sum[j] += row[j];
    });
  }
};

/// HEIGHTxWIDTH [stride S] [pad P]; without a stride: `stride`, or that of windows which do not overlap.
Windows windows_of(LayerWords& words, std::optional<std::size_t> stride, bool padded);

}  // namespace dpmpi
