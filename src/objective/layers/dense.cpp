// Layers in which every output is a product of all inputs, and what makes a list of an image.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/layers/adapter.hpp"
#include "objective/layers/kinds.hpp"
#include "objective/layers/standardised.hpp"

namespace dpmpi {
namespace {

struct DenseSettings {
  std::size_t units;
  Volume out(const Volume& in) const {
    if (in.positions() != 1)
      throw ConfigError(
          fmt::format("it takes a list of numbers, and there are {} channels of {}x{}: put flatten before it",
                      in.channels, in.height, in.width));
    return {units, 1, 1};
  }
  SlopeBound slope_bound(const Volume& /*in*/, double /*radius*/) const { return {.powers = 1}; }
  double numbers(const Volume& in) const {
    return 4 * (static_cast<double>(in.channels) + 16) * (static_cast<double>(units) + 16);
  }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                           LayerParameters own) const {
    const auto weights = own.take(in.channels * units), bias = own.take(units);
    return writer.dense(x, {.weights = {own.name("weight"), {in.channels, units}, weights},
                            .bias = ScoreWriter::Parameters{own.name("bias"), {units}, bias},
                            .transposed = true});
  }
};

/// Parameters: inputs x outputs weights, and a bias for each output.
template <class T>
class DenseLayer final : public Layer<T> {
 public:
  DenseLayer(const DenseSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)),
        inputs_(in.channels),
        units_(settings.units),
        width_(round_up(units_, 16)),
        back_width_(round_up(inputs_, 16)),
        weights_(inputs_ * width_, T{0}),
        bias_(width_, T{0}),
        transposed_(units_ * back_width_, T{0}),
        outputs_(round_up(room_for<T>(this->out()).size(), 16), T{0}),
        back_(std::max(room_for<T>(in).size(), back_width_), T{0}) {}

  double multiply_adds() const override { return static_cast<double>(inputs_ * units_); }
  std::vector<ParameterGroup> groups() const override {
    return {{"weight", 0, inputs_, units_}, {"bias", inputs_ * units_, units_, 1}};
  }
  void initialise(std::span<float> w, bool rectified) const override {
    const double variance =
        rectified ? 2.0 / static_cast<double>(inputs_) : 2.0 / static_cast<double>(inputs_ + units_);
    for (float& weight : w.first(inputs_ * units_)) weight *= static_cast<float>(std::sqrt(variance));
    std::ranges::fill(w.subspan(inputs_ * units_), 0.0F);
  }

  void load(std::span<const T> w) override {
    for (std::size_t k = 0; k < inputs_; ++k)
      for (std::size_t c = 0; c < units_; ++c) {
        weights_[k * width_ + c] = w[k * units_ + c];
        transposed_[c * back_width_ + k] = w[k * units_ + c];
      }
    for (std::size_t c = 0; c < units_; ++c) bias_[c] = w[inputs_ * units_ + c];
  }

  const T* forward(const T* in) override {
    in_values_ = in;
    product(in, weights_.data(), width_, inputs_, width_, outputs_.data());
    for (std::size_t c = 0; c < units_; ++c) outputs_[c] += bias_[c];
    return outputs_.data();
  }

  const T* backward(const T* delta, T* gradient, bool wanted) override {
    if (gradient != nullptr) by_parameters(delta, gradient);
    if (!wanted) return nullptr;
    product(delta, transposed_.data(), back_width_, units_, back_width_, back_.data());
    return back_.data();
  }

 private:
  void by_parameters(const T* __restrict delta, T* __restrict gradient) const {
    for (std::size_t k = 0; k < inputs_; ++k) {
      const T value = in_values_[k];
      for (std::size_t c = 0; c < units_; ++c) gradient[k * units_ + c] = value * delta[c];
    }
    std::copy_n(delta, units_, gradient + inputs_ * units_);
  }
  /// One row of a product.
  static void product(const T* a, const T* b, std::size_t b_stride, std::size_t inner, std::size_t cols, T* c) {
    for (std::size_t first = 0; first < cols; first += panel_columns<T>)
      multiply_tile<1>(Strided<T>{a, 0, 1}, Panel<T>{b + first, b_stride, std::min(panel_columns<T>, cols - first)},
                       inner, c + first, cols);
  }

  std::size_t inputs_, units_, width_, back_width_;
  AlignedVector<T> weights_, bias_, transposed_, outputs_, back_;
  const T* in_values_ = nullptr;
};

struct FlattenSettings {
  Volume out(const Volume& in) const { return {in.size(), 1, 1}; }
  SlopeBound slope_bound(const Volume& /*in*/, double /*radius*/) const { return {}; }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                           const LayerParameters& /*own*/) const {
    return in.positions() == 1 ? x : writer.reshape(x, {in.size()});
  }
};

/// Channel after channel, and in each position after position, as other programs count them.
template <class T>
class FlattenLayer final : public Layer<T> {
 public:
  FlattenLayer(const FlattenSettings& settings, const Volume& in)
      : Layer<T>(in, settings.out(in)), outputs_(room_for<T>(this->out())), back_(room_for<T>(in)) {}
  const T* forward(const T* in) override {
    for (std::size_t p = 0; p < this->in().positions(); ++p)
      for (std::size_t c = 0; c < this->in().channels; ++c)
        outputs_[c * this->in().positions() + p] = in[p * this->in().channels + c];
    return outputs_.data();
  }
  const T* backward(const T* delta, T* /*gradient*/, bool wanted) override {
    if (!wanted) return nullptr;
    for (std::size_t p = 0; p < this->in().positions(); ++p)
      for (std::size_t c = 0; c < this->in().channels; ++c)
        back_[p * this->in().channels + c] = delta[c * this->in().positions() + p];
    return back_.data();
  }

 private:
  AlignedVector<T> outputs_, back_;
};

}  // namespace

LayerKind dense_kind() {
  return {"dense", "dense UNITS [standardised] [adapter RANK]", [](LayerWords& words) {
            const auto inputs = [](const Volume& in) { return in.channels; };
            const auto plain = planned<DenseLayer>(DenseSettings{words.number("number of units")});
            const bool standard = words.flag("standardised");
            const auto layer = standard ? standardised(plain, inputs) : plain;
            const auto rank = words.after("adapter");
            const auto gradient = standard ? WeightGradient::as_it_does : WeightGradient::one_product;
            return rank ? adapted(layer, *rank, gradient, inputs) : layer;
          }};
}
LayerKind flatten_kind() {
  return {"flatten", "flatten", [](LayerWords&) { return planned<FlattenLayer>(FlattenSettings{}); }};
}

}  // namespace dpmpi
