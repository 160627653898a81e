// Normalisation of one image's numbers within groups of its channels, without parameters (Wu and He 2018). It looks
// at one record alone: statistics across records would be private.

#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/transform/image_step.hpp"

namespace dpmpi {
namespace {

class ImageGroupNorm final : public ImageStep {
 public:
  ImageGroupNorm(std::size_t groups, const ImageShape& shape) : of_group_(shape.size() / groups) {}

  void apply(std::span<const double> image, std::span<double> out) override {
    for (std::size_t begin = 0; begin < image.size(); begin += of_group_)
      normalise(image.subspan(begin, of_group_), out.subspan(begin, of_group_));
  }

 private:
  static void normalise(std::span<const double> group, std::span<double> out) {
    const auto count = static_cast<double>(group.size());
    double mean = 0, square = 0;
    for (const double x : group) mean += x;
    mean /= count;
    for (const double x : group) square += (x - mean) * (x - mean);
    const double inverse = 1 / std::sqrt(square / count + 1e-5);  // as groupnorm of objective.layers
    for (std::size_t i = 0; i < group.size(); ++i) out[i] = (group[i] - mean) * inverse;
  }

  std::size_t of_group_;
};

class ImageGroupNormPlan final : public ImageStepPlan {
 public:
  explicit ImageGroupNormPlan(std::size_t groups) : groups_(groups) {}
  ImageShape out(const ImageShape& in) const override {
    if (in.channels % groups_ != 0)
      throw ConfigError(fmt::format("{} channels cannot be divided into {} equal groups", in.channels, groups_));
    return in;
  }
  std::unique_ptr<ImageStep> make(const ImageShape& in) const override {
    return std::make_unique<ImageGroupNorm>(groups_, in);
  }
  bool normalises() const override { return true; }

 private:
  std::size_t groups_;
};

}  // namespace

ImageStepKind image_group_norm_kind() {
  return {"groupnorm", "groupnorm GROUPS", [](StepWords& words) -> std::unique_ptr<const ImageStepPlan> {
            return std::make_unique<ImageGroupNormPlan>(words.number("number of groups", 1'000'000));
          }};
}

}  // namespace dpmpi
