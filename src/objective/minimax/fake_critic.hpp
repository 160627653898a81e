#pragma once
// A critic on images that a generator made. Nothing here can see a record: images and weights are public.

#include <cstddef>
#include <memory>
#include <span>

#include "objective/layers/record_pass.hpp"
#include "objective/network/gradient.hpp"

namespace dpmpi {

/// Images, row after row, and for each of them which output of the critic scores it. There is room for a multiple
/// of 16 rows, and what stands behind the last image has no meaning.
struct FakeImages {
  const Scratch<float>& pixels;
  std::span<const std::size_t> own;
  std::size_t count() const { return own.size(); }
  std::size_t padded() const { return round_up(own.size(), 16); }
};

/// At a released point. Local, and the same bits on every rank; allocates when it is made, and never again.
class FakeCritic {
 public:
  virtual ~FakeCritic() = default;

  virtual std::size_t dim() const = 0;  ///< weights
  virtual std::size_t features() const = 0;
  virtual std::size_t outputs() const = 0;
  virtual void load(std::span<const float> weights) = 0;

  virtual void score(const FakeImages& images, std::span<float> scores) = 0;
  /// Adds the gradients of the scores by the weights.
  virtual void add_gradients(const FakeImages& images, PublicSum& sum) = 0;
  /// Writes the gradient of each score by the pixels, and zeros for padded rows.
  virtual void slopes(const FakeImages& images, Scratch<float>& by_pixels) = 0;
};

/// At most `rows` images at a time. The shape must outlive it.
std::unique_ptr<FakeCritic> perceptron_on_fakes(const MlpShape& shape, std::size_t rows);
std::unique_ptr<FakeCritic> layered_on_fakes(const LayeredShape& shape);

}  // namespace dpmpi
