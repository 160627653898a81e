// Convolutions. A record's windows are copied side by side; then the outputs, the gradient by the weights and
// that by the windows are products on the register tile.

#include <algorithm>
#include <cmath>

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
};

/// Parameters: weights, (rows x columns of the window x channels before) by channels behind, and a bias for each
/// of the latter. In scratch the bias is the weight of a constant behind each window.
template <class T>
class ConvLayer final : public Layer<T> {
 public:
  ConvLayer(const ConvSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)),
        windows_(settings.windows),
        inputs_(windows_.positions() * in.channels),
        channels_(settings.channels),
        stride_(round_up(inputs_ + 1, 16)),
        width_(round_up(channels_, 16)),
        rows_(round_up(this->out().positions(), register_rows)),
        unfolded_(rows_ * stride_, T{0}),
        weights_((inputs_ + 1) * width_, T{0}),
        transposed_(channels_ * stride_, T{0}),
        outputs_(room_for<T>(this->out())),
        padded_(rows_ * width_, T{0}),
        gradient_(round_up(inputs_ + 1, register_rows) * width_, T{0}),
        folding_(rows_ * stride_, T{0}),
        back_(room_for<T>(in)) {
    for (std::size_t p = 0; p < this->out().positions(); ++p) unfolded_[p * stride_ + inputs_] = 1;
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
    for (std::size_t k = 0; k <= inputs_; ++k)
      for (std::size_t c = 0; c < channels_; ++c) {
        weights_[k * width_ + c] = w[k * channels_ + c];
        if (k < inputs_) transposed_[c * stride_ + k] = w[k * channels_ + c];
      }
  }

  const T* forward(const T* in) override {
    windows_.unfold(this->in(), this->out(), in, unfolded_.data(), stride_);
    T* const to = narrow() ? padded_.data() : outputs_.data();
    multiply(Strided<T>{unfolded_.data(), stride_, 1}, rows_, weights_.data(), width_, inputs_ + 1, width_, to,
             width_);
    for (std::size_t p = 0; narrow() && p < this->out().positions(); ++p)
      std::copy_n(to + p * width_, channels_, outputs_.data() + p * channels_);
    return outputs_.data();
  }

  const T* backward(const T* delta, T* gradient, bool wanted) override {
    for (std::size_t p = 0; narrow() && p < this->out().positions(); ++p)
      std::copy_n(delta + p * channels_, channels_, padded_.data() + p * width_);
    const T* const from = narrow() ? padded_.data() : delta;
    multiply(Strided<T>{unfolded_.data(), 1, stride_}, round_up(inputs_ + 1, register_rows), from, width_,
             this->out().positions(), width_, gradient_.data(), width_);
    for (std::size_t k = 0; k <= inputs_; ++k)
      std::copy_n(gradient_.data() + k * width_, channels_, gradient + k * channels_);
    if (!wanted) return nullptr;
    multiply(Strided<T>{from, width_, 1}, rows_, transposed_.data(), stride_, channels_, round_up(inputs_, 16),
             folding_.data(), stride_);
    windows_.fold(this->in(), this->out(), folding_.data(), stride_, back_.data());
    return back_.data();
  }

 private:
  bool narrow() const { return channels_ != width_; }

  Windows windows_;
  std::size_t inputs_, channels_;      ///< of one product
  std::size_t stride_, width_, rows_;  ///< of windows with their constant, of
                                       ///< outputs, and of positions, in scratch
  AlignedVector<T> unfolded_, weights_, transposed_, outputs_, padded_, gradient_, folding_, back_;
};

}  // namespace

LayerKind conv_kind() {
  return {"conv", "conv CHANNELS HEIGHTxWIDTH [stride S] [pad P]", [](LayerWords& words) {
            const std::size_t channels = words.number("number of channels");
            return planned<ConvLayer>(ConvSettings{channels, windows_of(words, 1, true)});
          }};
}

}  // namespace dpmpi
