// Generators of images: a multilayer perceptron makes all images of a call together, a network of layers one at a
// time.

#include "objective/minimax/fake_generator.hpp"

#include <algorithm>

#include "objective/network/network.hpp"
#include "objective/network/pass.hpp"

namespace dpmpi {
namespace {

class PerceptronOfFakes final : public FakeGenerator {
 public:
  PerceptronOfFakes(const MlpShape& shape, std::size_t rows)
      : shape_(shape), network_(shape, rows), gradient_(shape, rows), latents_(rows, shape.width(0)) {
    for (std::size_t r = 0; shape.has_bias(0) && r < rows; ++r) latents_.row(r)[shape.inputs(0)] = shape.bias(0);
  }

  std::size_t dim() const override { return shape_.dim(); }
  std::size_t inputs() const override { return shape_.inputs(0); }
  std::size_t features() const override { return shape_.units.back(); }
  std::vector<ParameterGroup> groups() const override { return network_groups(shape_); }
  void initialise(const PublicStream& stream, std::span<float> weights) const override {
    initialise_network(shape_, stream, weights);
  }
  void load(std::span<const float> weights) override { network_.load(weights); }

  Scratch<float>& latents() override { return latents_; }
  Scratch<float>& images() override { return network_.level(shape_.layers()); }
  Scratch<float>& slopes() override { return network_.delta(shape_.layers()); }
  void forward(std::size_t count) override { network_.forward(latents_, round_up(count, 16)); }
  void add_gradients(std::size_t count, PublicSum& sum) override {
    const std::size_t padded = round_up(count, 16);
    network_.backward(padded);
    for (std::size_t l = 0; l < shape_.layers(); ++l) {
      const OuterProducts<float> term{network_.delta(l + 1), l == 0 ? latents_ : network_.level(l)};
      gradient_.add(l, {&term, 1}, padded, sum);
    }
  }

 private:
  const MlpShape& shape_;
  MlpNetwork<float> network_;
  LayerGradient<float> gradient_;
  Scratch<float> latents_;
};

/// Images stand as records do: channel after channel, position after position.
class LayeredOfFakes final : public FakeGenerator {
 public:
  LayeredOfFakes(const LayeredShape& shape, std::size_t rows)
      : shape_(shape),
        network_(shape.plans, shape.in),
        latents_(rows, round_up(shape.in.size(), 16)),
        images_(rows, round_up(network_.out().size(), 16)),
        slopes_(images_),
        input_(room_for<float>(shape.in)),
        delta_(room_for<float>(network_.out())),
        gradient_(network_.parameters()) {}

  std::size_t dim() const override { return gradient_.size(); }
  std::size_t inputs() const override { return network_.in().size(); }
  std::size_t features() const override { return network_.out().size(); }
  std::vector<ParameterGroup> groups() const override { return network_.groups(); }
  std::vector<std::string> structure() const override { return structure_of(shape_); }
  void initialise(const PublicStream& stream, std::span<float> weights) const override {
    stream.normals(0, weights);
    network_.initialise(weights, false);
  }
  void load(std::span<const float> weights) override { network_.load(weights); }

  Scratch<float>& latents() override { return latents_; }
  Scratch<float>& images() override { return images_; }
  Scratch<float>& slopes() override { return slopes_; }
  void forward(std::size_t count) override {
    for (std::size_t r = 0; r < count; ++r) {
      const float* const made = forward_row(r);
      for_each_number([&](std::size_t shown, std::size_t placed) { images_.row(r)[shown] = made[placed]; });
    }
  }
  // A pass keeps the values of one image alone, so each is made once more.
  void add_gradients(std::size_t count, PublicSum& sum) override {
    for (std::size_t r = 0; r < count; ++r) {
      forward_row(r);
      for_each_number([&](std::size_t shown, std::size_t placed) { delta_[placed] = slopes_.row(r)[shown]; });
      network_.backward(delta_.data(), gradient_.data(), false);
      sum.add(0, gradient_);
    }
  }

 private:
  const float* forward_row(std::size_t r) {
    std::copy_n(latents_.row(r), inputs(), input_.data());
    return network_.forward(input_.data());
  }
  template <class Visit>
  void for_each_number(Visit&& visit) const {
    const Volume& image = network_.out();
    for (std::size_t p = 0; p < image.positions(); ++p)
      for (std::size_t c = 0; c < image.channels; ++c) visit(c * image.positions() + p, p * image.channels + c);
  }

  const LayeredShape& shape_;
  Sequence<float> network_;
  Scratch<float> latents_, images_, slopes_;
  AlignedVector<float> input_, delta_, gradient_;  ///< of one image
};

}  // namespace

std::unique_ptr<FakeGenerator> perceptron_of_fakes(const MlpShape& shape, std::size_t rows) {
  return std::make_unique<PerceptronOfFakes>(shape, rows);
}
std::unique_ptr<FakeGenerator> layered_of_fakes(const LayeredShape& shape, std::size_t rows) {
  return std::make_unique<LayeredOfFakes>(shape, rows);
}

}  // namespace dpmpi
