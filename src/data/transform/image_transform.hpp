#pragma once
// data.image and data.transform: what becomes of the images that a file holds, a step after the other.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/transform/image_step.hpp"

namespace dpmpi {

class ImageTransform {
 public:
  ImageShape in, out;

  /// No step would be no transform.
  struct Step {
    std::string text;  ///< as it is written
    ImageShape in;
    std::shared_ptr<const ImageStepPlan> plan;
  };
  std::vector<Step> steps;

  bool normalises() const { return steps.back().plan->normalises(); }
  /// "1x28x28, scattering J=2 L=8, groupnorm 27: 81x7x7"
  std::string text() const;
};

/// From the texts of both options, which may be empty: no transform. Appends a problem for whatever is wrong, and
/// returns none then. Local.
std::optional<ImageTransform> read_transform(const std::string& image, const std::vector<std::string>& steps,
                                             std::vector<std::string>& problems);

/// A transform with its filters, for one image after the other.
class TransformedImage {
 public:
  explicit TransformedImage(const ImageTransform& transform);
  /// The image to be filled, in.size() numbers, all finite.
  std::span<double> image() { return values_.front(); }
  /// What becomes of it, in float32; what is beyond those is the largest of them.
  void transform(std::span<float> out);

 private:
  std::vector<std::unique_ptr<ImageStep>> steps_;
  std::vector<std::vector<double>> values_;  ///< before the first step, and after each
};

}  // namespace dpmpi
