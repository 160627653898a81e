// Convolutions of single channels. A product of a window with weights has one column there, which would fill a
// sixteenth of the register tile: the loops run over the channels instead, which stand side by side.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "objective/layers/conv_settings.hpp"
#include "objective/layers/padded_image.hpp"

namespace dpmpi {
namespace {

/// to[c] += a[c] b[c].
template <class T>
void add_products(const T* __restrict a, const T* __restrict b, std::size_t count, T* __restrict to) {
  for (std::size_t c = 0; c < count; ++c) to[c] += a[c] * b[c];
}

template <class T>
class DepthwiseLayer final : public Layer<T> {
 public:
  DepthwiseLayer(const ConvSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)),
        settings_(settings),
        channels_(in.channels),
        begins_(settings.windows.begins(in)),
        places_(settings.windows.places(in)),
        image_(settings.windows, in),
        parameters_((places_.size() + 1) * channels_),
        outputs_(room_for<T>(this->out())) {}

  double multiply_adds() const override { return settings_.multiply_adds(this->in()); }
  std::vector<ParameterGroup> groups() const override { return settings_.parameters(this->in()); }
  void initialise(std::span<float> w, bool rectified) const override {
    settings_.initialise(w, this->in(), rectified);
  }
  void load(std::span<const T> w) override { std::ranges::copy(w, parameters_.begin()); }

  const T* forward(const T* in) override {
    windowed_ = image_.with_zeros(in);
    const T* const bias = parameters_.data() + places_.size() * channels_;
    for (std::size_t p = 0; p < begins_.size(); ++p) std::copy_n(bias, channels_, outputs_.data() + p * channels_);
    visit([&](std::size_t p, std::size_t k, std::size_t at) {
      add_products(windowed_ + at, parameters_.data() + k, channels_, outputs_.data() + p);
    });
    return outputs_.data();
  }

  const T* backward(const T* delta, T* gradient, bool wanted) override {
    std::fill_n(gradient, parameters_.size(), T{0});
    visit([&](std::size_t p, std::size_t k, std::size_t at) {
      add_products(windowed_ + at, delta + p, channels_, gradient + k);
    });
    T* const bias = gradient + places_.size() * channels_;
    for (std::size_t p = 0; p < begins_.size(); ++p)
      for (std::size_t c = 0; c < channels_; ++c) bias[c] += delta[p * channels_ + c];
    if (!wanted) return nullptr;
    T* const sums = image_.empty_sums();
    visit([&](std::size_t p, std::size_t k, std::size_t at) {
      add_products(parameters_.data() + k, delta + p, channels_, sums + at);
    });
    return image_.sums_of_image();
  }

 private:
  /// Calls see(where the output, the weights and the input of all channels begin) for every place of every window.
  template <class See>
  void visit(See&& see) const {
    for (std::size_t p = 0; p < begins_.size(); ++p)
      for (std::size_t k = 0; k < places_.size(); ++k) see(p * channels_, k * channels_, begins_[p] + places_[k]);
  }

  ConvSettings settings_;
  std::size_t channels_;
  std::vector<std::uint32_t> begins_, places_;  ///< of windows in the padded image, and of their numbers from there
  PaddedImage<T> image_;
  AlignedVector<T> parameters_, outputs_;
  const T* windowed_ = nullptr;  ///< the image with its padding
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_depthwise(const ConvSettings& settings, const Volume& in) {
  return std::make_unique<DepthwiseLayer<T>>(settings, in);
}
template std::unique_ptr<Layer<float>> make_depthwise(const ConvSettings&, const Volume&);
template std::unique_ptr<Layer<double>> make_depthwise(const ConvSettings&, const Volume&);

}  // namespace dpmpi
