#pragma once
// An iterate that is worked on in double and shown in float32, in one place: 8 bytes a parameter, not 12.

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace dpmpi {

/// n numbers that stand in memory as doubles or, folded into its first half, as float32. Both views change what
/// stands there if they must; a view is valid until the other one is asked for. Folding rounds each number, and so
/// loses nothing where all of them are float32 numbers already.
class FoldingVector {
 public:
  void resize(std::size_t n) { memory_.resize(n); }
  std::vector<double>& doubles() {
    if (folded_) unfold();
    return memory_;
  }
  std::span<float> floats() {
    if (!folded_) fold();
    return {reinterpret_cast<float*>(memory_.data()), memory_.size()};
  }

 private:
  // memcpy, because the types of what stands there change.
  void fold() {
    auto* const bytes = reinterpret_cast<std::byte*>(memory_.data());
    for (std::size_t j = 0; j < memory_.size(); ++j) {
      double wide;
      std::memcpy(&wide, bytes + j * sizeof wide, sizeof wide);
      const auto narrow = static_cast<float>(wide);
      std::memcpy(bytes + j * sizeof narrow, &narrow, sizeof narrow);
    }
    folded_ = true;
  }
  void unfold() {  // from the end: what is written over was read
    auto* const bytes = reinterpret_cast<std::byte*>(memory_.data());
    for (std::size_t j = memory_.size(); j-- > 0;) {
      float narrow;
      std::memcpy(&narrow, bytes + j * sizeof narrow, sizeof narrow);
      const double wide = narrow;
      std::memcpy(bytes + j * sizeof wide, &wide, sizeof wide);
    }
    folded_ = false;
  }
  std::vector<double> memory_;
  bool folded_ = false;
};

}  // namespace dpmpi
