#pragma once
// Runs whose state is a point in double that moves with releases, and float32 numbers of it that are shown.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "core/files/archive.hpp"
#include "method/method.hpp"

namespace dpmpi {

class ReleasedPoint : public Algorithm {
 public:
  std::span<const float> iterate() override { return published_; }
  std::span<const std::byte> replicated() override { return std::as_bytes(std::span(x_)); }
  void archive(Archive& archive) override {
    archive.field("x", x_);
    archive.field("published", published_);
  }

 protected:
  void start_at(std::span<const float> point) {
    x_.assign(point.begin(), point.end());
    published_.assign(point.begin(), point.end());
  }
  /// After x_ has moved by a release.
  void publish() {
    std::ranges::transform(x_, published_.begin(), [](double v) { return static_cast<float>(v); });
  }

  std::vector<double> x_;

 private:
  AlignedVector<float> published_;
};

}  // namespace dpmpi
