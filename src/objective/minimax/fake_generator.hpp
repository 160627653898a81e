#pragma once
// A generator of images. Nothing here can see a record: latents come from public streams, and weights are public.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "objective/layers/record_pass.hpp"
#include "objective/network/gradient.hpp"

namespace dpmpi {

/// At a released point. Rows stand side by side in scratches with room for a multiple of 16 of them. Local, and the
/// same bits on every rank; allocates when it is made, and never again.
class FakeGenerator {
 public:
  virtual ~FakeGenerator() = default;

  virtual std::size_t dim() const = 0;       ///< weights
  virtual std::size_t inputs() const = 0;    ///< numbers of a latent, with those that say a class
  virtual std::size_t features() const = 0;  ///< numbers of an image
  virtual std::vector<ParameterGroup> groups() const = 0;
  virtual std::vector<std::string> structure() const { return {}; }
  /// A public start point, of so many numbers of the stream as there are weights.
  virtual void initialise(const PublicStream& stream, std::span<float> weights) const = 0;
  virtual void load(std::span<const float> weights) = 0;

  virtual Scratch<float>& latents() = 0;
  /// Of forward(). Whoever calls it may overwrite them with a function of them.
  virtual Scratch<float>& images() = 0;
  virtual Scratch<float>& slopes() = 0;  ///< by what forward() wrote, of zeros for padded rows
  /// Makes the images of the first `count` latents, and of what stands in the padded rows.
  virtual void forward(std::size_t count) = 0;
  /// Adds the gradients by the weights, made from the slopes.
  virtual void add_gradients(std::size_t count, PublicSum& sum) = 0;
};

/// At most `rows` images at a time. The shape must outlive it.
std::unique_ptr<FakeGenerator> perceptron_of_fakes(const MlpShape& shape, std::size_t rows);
std::unique_ptr<FakeGenerator> layered_of_fakes(const LayeredShape& shape, std::size_t rows);

}  // namespace dpmpi
