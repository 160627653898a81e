#pragma once
// Random copies of a record, of whose gradients the mean is taken before it is clipped (De, Berrada, Hayes, Smith
// and Balle, "Unlocking high-accuracy differentially private image classification through scale", 2022): a record
// contributes once, however many copies it has.
//
// Which copies follows from the point and from the record itself: a record's contribution is a function of both and
// of nothing else, on any number of ranks, and when a run is resumed.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/aligned.hpp"
#include "objective/layers/layer.hpp"

namespace dpmpi {

struct Augmentation {
  std::size_t shift = 0;   ///< rows and columns an image is moved by at most, uniformly; zeros come after it
  bool flip = false;       ///< left and right are exchanged in half of the copies
  std::size_t copies = 1;  ///< of each record
  bool any() const { return shift > 0 || flip; }
};

/// Of objective.augment as text: "shift 2, flip". Appends a problem for what cannot be read.
Augmentation read_augmentation(std::string_view text, std::vector<std::string>& problems);
/// Throws ConfigError if there is nothing to be moved, or the image is moved out of sight.
void check_augmentation(const Augmentation& augmentation, const Volume& in);

/// Local; allocates when it is made, and never again.
class RandomCopies {
 public:
  RandomCopies(const Augmentation& augmentation, const Volume& in)
      : augmentation_(augmentation), in_(in), copy_(room_for<float>(in)) {}

  std::size_t count() const { return augmentation_.copies; }
  void set_point(std::span<const float> w);
  /// `record` stays unchanged until its last copy was made.
  void set_record(const float* record);
  /// Copy k < count() of the record, valid until the next call.
  const float* copy(std::size_t k);

 private:
  Augmentation augmentation_;
  Volume in_;
  std::uint64_t point_ = 0, of_record_ = 0;  ///< digests
  const float* record_ = nullptr;
  AlignedVector<float> copy_;
};

}  // namespace dpmpi
