#pragma once
// The image of one record with the zeros around it that windows look at.

#include <algorithm>
#include <cstddef>

#include "objective/layers/windows.hpp"

namespace dpmpi {

/// T: float or double. Local; allocates when it is made, and never again.
template <class T>
class PaddedImage {
 public:
  PaddedImage(const Windows& windows, const Volume& in)
      : in_(in),
        padding_(windows.padding),
        image_(padding_ > 0 ? windows.padded(in).size() : 0, T{0}),
        sums_(room_for<T>(windows.padded(in))),
        back_(room_for<T>(in)) {}

  /// Valid until the next call, or as long as `in`.
  const T* with_zeros(const T* in) {
    if (padding_ == 0) return in;
    for (std::size_t y = 0; y < in_.height; ++y) std::copy_n(in + y * row(), row(), image_.data() + place(y));
    return image_.data();
  }

  /// Zeros of the padded shape, to be added to.
  T* empty_sums() {
    std::ranges::fill(sums_, T{0});
    return sums_.data();
  }
  /// Of these the image, with room_for(in); valid until the next call of either.
  const T* sums_of_image() {
    if (padding_ == 0) return sums_.data();
    for (std::size_t y = 0; y < in_.height; ++y)
      std::copy_n(sums_.data() + place(y), row(), back_.data() + y * row());
    return back_.data();
  }

 private:
  std::size_t row() const { return in_.width * in_.channels; }
  /// Where row y begins between the zeros.
  std::size_t place(std::size_t y) const {
    return ((y + padding_) * (in_.width + 2 * padding_) + padding_) * in_.channels;
  }

  Volume in_;
  std::size_t padding_;
  AlignedVector<T> image_, sums_, back_;
};

}  // namespace dpmpi
