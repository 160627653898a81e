// Convolutions. The outputs, the gradient by the weights and that by the windows are products on the register tile,
// which reads the windows where they stand in the image.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/layers/kinds.hpp"
#include "objective/layers/windows.hpp"

namespace dpmpi {
namespace {

struct ConvSettings {
  std::size_t channels;
  Windows windows;
  Volume out(const Volume& in) const { return windows.out(in, channels); }
  double numbers(const Volume& in) const {
    const double inputs = static_cast<double>(windows.positions()) * static_cast<double>(in.channels) + 16,
                 outputs = static_cast<double>(channels) + 16;
    return 2 * static_cast<double>(out(in).positions() + 16) * (inputs + outputs) + 4 * inputs * outputs;
  }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                           LayerParameters own) const {
    const std::size_t inputs = windows.positions() * in.channels;
    const auto here = own.take(inputs * channels), bias = own.take(channels);
    std::vector<float> weights(here.size());  // channels behind x channels before x window
    for (std::size_t at = 0; at < windows.positions(); ++at)
      for (std::size_t k = 0; k < in.channels; ++k)
        for (std::size_t c = 0; c < channels; ++c)
          weights[(c * in.channels + k) * windows.positions() + at] = here[(at * in.channels + k) * channels + c];
    return windows.write(writer, x, in, out(in), [&](const ScoreWriter::Value& image, const WindowShape& shape) {
      return writer.convolution(
          image, {own.name("weight"), {channels, in.channels, windows.height, windows.width}, weights},
          {own.name("bias"), {channels}, bias}, shape);
    });
  }
};

/// A call of memcpy would cost more than the few numbers that there are.
template <class T>
void copy_short(const T* __restrict from, std::size_t count, T* __restrict to) {
  constexpr std::size_t chunk = 8;
  std::size_t j = 0;
  for (; j + chunk <= count; j += chunk) std::memcpy(to + j, from + j, chunk * sizeof(T));
  for (; j < count; ++j) to[j] = from[j];
}

/// Parameters: weights, (rows x columns of the window x channels before) by channels behind, and a bias for each
/// of the latter.
template <class T>
class ConvLayer final : public Layer<T> {
 public:
  ConvLayer(const ConvSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)),
        windows_(settings.windows),
        inputs_(windows_.positions() * in.channels),
        channels_(settings.channels),
        stride_(round_up(inputs_, 16)),
        width_(round_up(channels_, 16)),
        positions_(this->out().positions()),
        begins_(windows_.begins(in)),
        image_(windows_.padding > 0 ? windows_.padded(in).size() : 0, T{0}),
        weights_(inputs_ * width_, T{0}),
        bias_(width_, T{0}),
        transposed_(channels_ * stride_, T{0}),
        outputs_(room_for<T>(this->out())),
        padded_(round_up(positions_, register_rows) * width_, T{0}),
        gradient_(round_up(inputs_, register_rows) * width_, T{0}),
        folding_(round_up(positions_, register_rows) * stride_, T{0}),
        sums_(room_for<T>(windows_.padded(in))),
        back_(room_for<T>(in)) {
    for (const std::uint32_t place : windows_.places(in))
      for (std::size_t c = 0; c < in.channels; ++c) numbers_.push_back(place + static_cast<std::uint32_t>(c));
    // Tiles at the ends read some numbers for nothing.
    begins_.resize(round_up(positions_, register_rows), 0);
    numbers_.resize(round_up(inputs_, register_rows), 0);
  }

  double multiply_adds() const override { return static_cast<double>(this->out().size() * inputs_); }
  std::vector<ParameterGroup> groups() const override {
    return {{"weight", 0, inputs_, channels_}, {"bias", inputs_ * channels_, channels_, 1}};
  }
  void initialise(std::span<float> w, bool rectified) const override {
    const auto scale = static_cast<float>(std::sqrt((rectified ? 2.0 : 1.0) / static_cast<double>(inputs_)));
    for (float& weight : w.first(inputs_ * channels_)) weight *= scale;
    std::ranges::fill(w.subspan(inputs_ * channels_), 0.0F);
  }

  void load(std::span<const T> w) override {
    for (std::size_t k = 0; k < inputs_; ++k)
      for (std::size_t c = 0; c < channels_; ++c) {
        weights_[k * width_ + c] = w[k * channels_ + c];
        transposed_[c * stride_ + k] = w[k * channels_ + c];
      }
    std::copy_n(w.data() + inputs_ * channels_, channels_, bias_.data());
  }

  const T* forward(const T* in) override {
    windowed_ = with_padding(in);
    T* const to = narrow() ? padded_.data() : outputs_.data();
    for (std::size_t p = 0; p < begins_.size(); ++p) copy_short(bias_.data(), width_, to + p * width_);
    const auto windows = [&](std::size_t first) {
      return Windowed<T>(windowed_, begins_.data() + first, numbers_.data());
    };
    multiply(windows, begins_.size(), weights_.data(), width_, inputs_, width_, to, width_, true);
    for (std::size_t p = 0; narrow() && p < positions_; ++p)
      copy_short(to + p * width_, channels_, outputs_.data() + p * channels_);
    return outputs_.data();
  }

  const T* backward(const T* delta, T* gradient, bool wanted) override {
    for (std::size_t p = 0; narrow() && p < positions_; ++p)
      copy_short(delta + p * channels_, channels_, padded_.data() + p * width_);
    const T* const from = narrow() ? padded_.data() : delta;
    const auto transposed_windows = [&](std::size_t first) {
      return Windowed<T>(windowed_, numbers_.data() + first, begins_.data());
    };
    multiply(transposed_windows, numbers_.size(), from, width_, positions_, width_, gradient_.data(), width_);
    for (std::size_t k = 0; k < inputs_; ++k)
      copy_short(gradient_.data() + k * width_, channels_, gradient + k * channels_);
    T* const bias = gradient + inputs_ * channels_;
    std::fill_n(bias, channels_, T{0});
    for (std::size_t p = 0; p < positions_; ++p)
      for (std::size_t c = 0; c < channels_; ++c) bias[c] += delta[p * channels_ + c];
    return wanted ? by_inputs(from) : nullptr;
  }

 private:
  bool narrow() const { return channels_ != width_; }

  const T* with_padding(const T* in) {
    if (windows_.padding == 0) return in;
    const Volume& image = this->in();
    for (std::size_t y = 0; y < image.height; ++y)
      std::copy_n(in + y * image.width * image.channels, image.width * image.channels,
                  image_.data() + place_in_image(y));
    return image_.data();
  }
  /// Where row y begins in the padded image.
  std::size_t place_in_image(std::size_t y) const {
    return ((y + windows_.padding) * (this->in().width + 2 * windows_.padding) + windows_.padding) *
           this->in().channels;
  }

  /// The gradient by each window, added up where the windows stand.
  const T* by_inputs(const T* delta) {
    const auto deltas = [&](std::size_t first) { return Strided<T>{delta + first * width_, width_, 1}; };
    multiply(deltas, begins_.size(), transposed_.data(), stride_, channels_, stride_, folding_.data(), stride_);
    std::ranges::fill(sums_, T{0});
    const std::size_t run = windows_.width * this->in().channels;  // numbers side by side
    for (std::size_t p = 0; p < positions_; ++p)
      for (std::size_t k = 0; k < inputs_; k += run) {
        const T* const from = folding_.data() + p * stride_ + k;
        T* const to = sums_.data() + begins_[p] + numbers_[k];
        for (std::size_t j = 0; j < run; ++j) to[j] += from[j];
      }
    if (windows_.padding == 0) return sums_.data();
    const Volume& image = this->in();
    for (std::size_t y = 0; y < image.height; ++y)
      std::copy_n(sums_.data() + place_in_image(y), image.width * image.channels,
                  back_.data() + y * image.width * image.channels);
    return back_.data();
  }

  Windows windows_;
  std::size_t inputs_, channels_;  ///< of one product
  std::size_t stride_, width_;     ///< of one and the other in scratch
  std::size_t positions_;          ///< of windows
  std::vector<std::uint32_t> begins_,
      numbers_;  ///< of windows in the padded image, and of their numbers from there
  AlignedVector<T> image_, weights_, bias_, transposed_, outputs_, padded_, gradient_, folding_, sums_, back_;
  const T* windowed_ = nullptr;  ///< the image with its padding
};

}  // namespace

LayerKind conv_kind() {
  return {"conv", "conv CHANNELS HEIGHTxWIDTH [stride S] [pad P]", [](LayerWords& words) {
            const std::size_t channels = words.number("number of channels");
            return planned<ConvLayer>(ConvSettings{channels, windows_of(words, 1, true)});
          }};
}

}  // namespace dpmpi
