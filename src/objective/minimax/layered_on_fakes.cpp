// A network of layers as a critic of fakes: one image at a time, as it takes records.

#include <algorithm>

#include "objective/layers/sequence.hpp"
#include "objective/minimax/fake_critic.hpp"

namespace dpmpi {
namespace {

class LayeredOnFakes final : public FakeCritic {
 public:
  explicit LayeredOnFakes(const LayeredShape& shape)
      : network_(shape.plans, shape.in),
        input_(room_for<float>(shape.in)),
        delta_(room_for<float>(network_.out())),
        gradient_(network_.parameters()) {}

  std::size_t dim() const override { return gradient_.size(); }
  std::size_t features() const override { return network_.in().size(); }
  std::size_t outputs() const override { return network_.out().size(); }
  void load(std::span<const float> weights) override { network_.load(weights); }

  void score(const FakeImages& images, std::span<float> scores) override {
    for (std::size_t r = 0; r < images.count(); ++r) scores[r] = forward(images, r)[images.own[r]];
  }
  void add_gradients(const FakeImages& images, PublicSum& sum) override {
    for (std::size_t r = 0; r < images.count(); ++r) {
      backward(images, r, false);
      sum.add(0, gradient_);
    }
  }
  void slopes(const FakeImages& images, Scratch<float>& by_pixels) override {
    std::fill_n(by_pixels.row(0), images.padded() * by_pixels.width, 0.0F);
    const Volume& in = network_.in();
    for (std::size_t r = 0; r < images.count(); ++r) {
      const float* const back = backward(images, r, true);
      for (std::size_t p = 0; p < in.positions(); ++p)
        for (std::size_t c = 0; c < in.channels; ++c)
          by_pixels.row(r)[c * in.positions() + p] = back[p * in.channels + c];
    }
  }

 private:
  const float* forward(const FakeImages& images, std::size_t r) {
    const Volume& in = network_.in();
    for (std::size_t p = 0; p < in.positions(); ++p)
      for (std::size_t c = 0; c < in.channels; ++c)
        input_[p * in.channels + c] = images.pixels.row(r)[c * in.positions() + p];
    return network_.forward(input_.data());
  }
  /// gradient_ of the score of row r; returns that by the input, if it is wanted.
  const float* backward(const FakeImages& images, std::size_t r, bool wanted) {
    forward(images, r);
    std::ranges::fill(delta_, 0.0F);
    delta_[images.own[r]] = 1;
    return network_.backward(delta_.data(), gradient_.data(), wanted);
  }

  Sequence<float> network_;
  AlignedVector<float> input_, delta_, gradient_;  ///< of one image
};

}  // namespace

std::unique_ptr<FakeCritic> layered_on_fakes(const LayeredShape& shape) {
  return std::make_unique<LayeredOnFakes>(shape);
}

}  // namespace dpmpi
