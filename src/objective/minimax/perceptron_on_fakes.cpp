// A multilayer perceptron as a critic of fakes: all images of a call together.

#include <algorithm>

#include "objective/minimax/fake_critic.hpp"
#include "objective/network/network.hpp"

namespace dpmpi {
namespace {

class PerceptronOnFakes final : public FakeCritic {
 public:
  PerceptronOnFakes(const MlpShape& shape, std::size_t rows)
      : shape_(shape),
        network_(shape, rows),
        gradient_(shape, rows),
        first_layer_(shape.outputs(0), round_up(shape.inputs(0), 16)),
        image_(rows, shape.width(0)) {
    for (std::size_t r = 0; shape.has_bias(0) && r < rows; ++r) image_.row(r)[shape.inputs(0)] = shape.bias(0);
  }

  std::size_t dim() const override { return shape_.dim(); }
  std::size_t features() const override { return shape_.inputs(0); }
  std::size_t outputs() const override { return shape_.units.back(); }
  void load(std::span<const float> weights) override {
    network_.load(weights);
    first_layer_.set(weights.data(), shape_.outputs(0), shape_.inputs(0));
  }

  void score(const FakeImages& images, std::span<float> scores) override {
    forward(images);
    for (std::size_t r = 0; r < images.count(); ++r) scores[r] = network_.level(last()).row(r)[images.own[r]];
  }
  void add_gradients(const FakeImages& images, PublicSum& sum) override {
    backward(images);
    for (std::size_t l = 0; l < shape_.layers(); ++l) {
      const OuterProducts<float> term{network_.delta(l + 1), l == 0 ? image_ : network_.level(l)};
      gradient_.add(l, {&term, 1}, images.padded(), sum);
    }
  }
  void slopes(const FakeImages& images, Scratch<float>& by_pixels) override {
    backward(images);
    first_layer_.multiply(network_.delta(1), images.padded(), by_pixels);
  }

 private:
  std::size_t last() const { return shape_.layers(); }
  void forward(const FakeImages& images) {
    for (std::size_t r = 0; r < images.padded(); ++r)
      std::copy_n(images.pixels.row(r), shape_.inputs(0), image_.row(r));
    network_.forward(image_, images.padded());
  }
  /// Deltas for a gradient of 1 by each row's score.
  void backward(const FakeImages& images) {
    forward(images);
    Scratch<float>& delta = network_.delta(last());
    for (std::size_t r = 0; r < images.padded(); ++r) {
      std::fill_n(delta.row(r), shape_.units.back(), 0.0F);
      if (r < images.count()) delta.row(r)[images.own[r]] = 1;
    }
    network_.backward(images.padded());
  }

  const MlpShape& shape_;
  MlpNetwork<float> network_;
  LayerGradient<float> gradient_;
  PackedMatrix<float> first_layer_;  ///< as the left operand of the pixels
  Scratch<float> image_;             ///< the network's input
};

}  // namespace

std::unique_ptr<FakeCritic> perceptron_on_fakes(const MlpShape& shape, std::size_t rows) {
  return std::make_unique<PerceptronOnFakes>(shape, rows);
}

}  // namespace dpmpi
