#pragma once
// A point in double that moves with releases, and what is shown and written of it. Local.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "core/files/archive.hpp"

namespace dpmpi {

class ReleasedPoint {
 public:
  void start(std::span<const float> at) {
    x.assign(at.begin(), at.end());
    published_.assign(at.begin(), at.end());
  }
  /// After x has moved by a release.
  void publish() {
    std::ranges::transform(x, published_.begin(), [](double v) { return static_cast<float>(v); });
  }
  std::span<const float> published() const { return published_; }
  std::span<const std::byte> replicated() const { return std::as_bytes(std::span(x)); }
  void archive(Archive& archive) {
    archive.field("x", x);
    archive.field("published", published_);
  }

  std::vector<double> x;

 private:
  AlignedVector<float> published_;
};

}  // namespace dpmpi
