// Convolutions. The outputs, the gradient by the weights and that by the windows are products on the register tile,
// which reads the windows where they stand in the image: group by group, if the channels stand in groups.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/layers/adapter.hpp"
#include "objective/layers/conv_settings.hpp"
#include "objective/layers/padded_image.hpp"
#include "objective/layers/standardised.hpp"

namespace dpmpi {
namespace {

/// A call of memcpy would cost more than the few numbers that there are.
template <class T>
void copy_short(const T* __restrict from, std::size_t count, T* __restrict to) {
  constexpr std::size_t chunk = 8;
  std::size_t j = 0;
  for (; j + chunk <= count; j += chunk) std::memcpy(to + j, from + j, chunk * sizeof(T));
  for (; j < count; ++j) to[j] = from[j];
}

template <class T>
class ConvLayer final : public Layer<T> {
 public:
  ConvLayer(const ConvSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)),
        settings_(settings),
        inputs_(settings.inputs(in)),
        channels_(settings.channels),
        before_(in.channels / settings.groups),
        behind_(channels_ / settings.groups),
        stride_(round_up(inputs_, 16)),
        width_(round_up(behind_, 16)),
        positions_(this->out().positions()),
        begins_(settings.windows.begins(in)),
        image_(settings.windows, in),
        weights_(settings.groups * inputs_ * width_, T{0}),
        bias_(settings.groups * width_, T{0}),
        transposed_(settings.groups * behind_ * stride_, T{0}),
        outputs_(room_for<T>(this->out())),
        padded_(round_up(positions_, register_rows) * width_, T{0}),
        gradient_(round_up(inputs_, register_rows) * width_, T{0}),
        folding_(round_up(positions_, register_rows) * stride_, T{0}) {
    for (const std::uint32_t place : settings.windows.places(in))
      for (std::size_t c = 0; c < before_; ++c) numbers_.push_back(place + static_cast<std::uint32_t>(c));
    // Tiles at the ends read some numbers for nothing.
    begins_.resize(round_up(positions_, register_rows), 0);
    numbers_.resize(round_up(inputs_, register_rows), 0);
  }

  double multiply_adds() const override { return settings_.multiply_adds(this->in()); }
  std::vector<ParameterGroup> groups() const override { return settings_.parameters(this->in()); }
  void initialise(std::span<float> w, bool rectified) const override {
    settings_.initialise(w, this->in(), rectified);
  }

  void load(std::span<const T> w) override {
    for (std::size_t g = 0; g < settings_.groups; ++g)
      for (std::size_t c = 0; c < behind_; ++c) {
        const std::size_t channel = g * behind_ + c;
        for (std::size_t k = 0; k < inputs_; ++k) {
          weights_[(g * inputs_ + k) * width_ + c] = w[k * channels_ + channel];
          transposed_[channel * stride_ + k] = w[k * channels_ + channel];
        }
        bias_[g * width_ + c] = w[inputs_ * channels_ + channel];
      }
  }

  const T* forward(const T* in) override {
    windowed_ = image_.with_zeros(in);
    for (std::size_t g = 0; g < settings_.groups; ++g) forward_group(g);
    return outputs_.data();
  }

  const T* backward(const T* delta, T* gradient, bool wanted) override {
    T* const sums = wanted ? image_.empty_sums() : nullptr;
    for (std::size_t g = 0; g < settings_.groups; ++g) {
      const T* const own = of_group(g, delta);
      by_weights(g, own, gradient);
      if (wanted) by_inputs(g, own, sums);
    }
    T* const bias = gradient + inputs_ * channels_;
    std::fill_n(bias, channels_, T{0});
    for (std::size_t p = 0; p < positions_; ++p)
      for (std::size_t c = 0; c < channels_; ++c) bias[c] += delta[p * channels_ + c];
    return wanted ? image_.sums_of_image() : nullptr;
  }

 private:
  /// Whether outputs stand otherwise in products than behind the layer.
  bool apart() const { return channels_ != width_; }

  void forward_group(std::size_t g) {
    T* const to = apart() ? padded_.data() : outputs_.data();
    for (std::size_t p = 0; p < begins_.size(); ++p) copy_short(bias_.data() + g * width_, width_, to + p * width_);
    const auto windows = [&](std::size_t first) {
      return Windowed<T>(windowed_ + g * before_, begins_.data() + first, numbers_.data());
    };
    multiply(windows, begins_.size(), weights_.data() + g * inputs_ * width_, width_, inputs_, width_, to, width_,
             true);
    for (std::size_t p = 0; apart() && p < positions_; ++p)
      copy_short(to + p * width_, behind_, outputs_.data() + p * channels_ + g * behind_);
  }

  /// Its part of the gradient by the outputs.
  const T* of_group(std::size_t g, const T* delta) {
    if (!apart()) return delta;
    for (std::size_t p = 0; p < positions_; ++p)
      copy_short(delta + p * channels_ + g * behind_, behind_, padded_.data() + p * width_);
    return padded_.data();
  }

  void by_weights(std::size_t g, const T* delta, T* gradient) {
    const auto transposed_windows = [&](std::size_t first) {
      return Windowed<T>(windowed_ + g * before_, numbers_.data() + first, begins_.data());
    };
    multiply(transposed_windows, numbers_.size(), delta, width_, positions_, width_, gradient_.data(), width_);
    for (std::size_t k = 0; k < inputs_; ++k)
      copy_short(gradient_.data() + k * width_, behind_, gradient + k * channels_ + g * behind_);
  }

  /// The gradient by each window, added up where the windows stand.
  void by_inputs(std::size_t g, const T* delta, T* sums) {
    const auto deltas = [&](std::size_t first) { return Strided<T>{delta + first * width_, width_, 1}; };
    multiply(deltas, begins_.size(), transposed_.data() + g * behind_ * stride_, stride_, behind_, stride_,
             folding_.data(), stride_);
    const std::size_t run = settings_.groups == 1 ? settings_.windows.width * before_ : before_;  // side by side
    for (std::size_t p = 0; p < positions_; ++p)
      for (std::size_t k = 0; k < inputs_; k += run) {
        const T* const from = folding_.data() + p * stride_ + k;
        T* const to = sums + begins_[p] + numbers_[k] + g * before_;
        for (std::size_t j = 0; j < run; ++j) to[j] += from[j];
      }
  }

  ConvSettings settings_;
  std::size_t inputs_;                      ///< of one product
  std::size_t channels_, before_, behind_;  ///< behind the layer; in one group before and behind it
  std::size_t stride_, width_;              ///< of inputs and of outputs of a group in scratch
  std::size_t positions_;                   ///< of windows
  std::vector<std::uint32_t> begins_,
      numbers_;  ///< of windows in the padded image, and of their numbers from there
  PaddedImage<T> image_;
  AlignedVector<T> weights_, bias_, transposed_, outputs_, padded_, gradient_, folding_;
  const T* windowed_ = nullptr;  ///< the image with its padding
};

class ConvPlan final : public PlanOf<ConvSettings, ConvLayer> {
 public:
  using PlanOf::PlanOf;
  std::unique_ptr<Layer<float>> make_float(const Volume& in) const override {
    return settings().depthwise(in) ? make_depthwise<float>(settings(), in) : PlanOf::make_float(in);
  }
  std::unique_ptr<Layer<double>> make_double(const Volume& in) const override {
    return settings().depthwise(in) ? make_depthwise<double>(settings(), in) : PlanOf::make_double(in);
  }
};

}  // namespace

LayerKind conv_kind() {
  return {
      "conv", "conv CHANNELS HEIGHTxWIDTH [stride S] [pad P] [groups G] [standardised] [adapter RANK]",
      [](LayerWords& words) -> std::shared_ptr<const LayerPlan> {
        const std::size_t channels = words.number("number of channels");
        const Windows windows = windows_of(words, 1, true);
        const std::size_t groups = words.after("groups").value_or(1);
        if (channels % groups != 0)
          throw ConfigError(fmt::format("{} channels cannot be divided into {} equal groups", channels, groups));
        const ConvSettings settings{channels, windows, groups};
        const auto inputs = [settings](const Volume& in) { return settings.inputs(in); };
        std::shared_ptr<const LayerPlan> layer = std::make_shared<ConvPlan>(settings);
        if (words.flag("standardised")) layer = standardised(layer, inputs);
        const auto rank = words.after("adapter");
        return rank ? adapted(layer, *rank, WeightGradient::as_it_does, inputs) : layer;
      }};
}

}  // namespace dpmpi
