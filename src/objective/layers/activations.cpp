// Functions of single numbers.

#include <cmath>
#include <string>

#include "objective/layers/kinds.hpp"
#include "objective/network/activation.hpp"
#include "objective/network/network.hpp"
#include "objective/score_layers.hpp"

namespace dpmpi {
namespace {

struct ActivationSettings {
  Activation activation;
  Volume out(const Volume& in) const { return in; }
  bool has_kink() const { return activation == Activation::relu || activation == Activation::leaky_relu; }
  SlopeBound slope_bound(const Volume& /*in*/, double /*radius*/) const { return {}; }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& /*in*/,
                           const LayerParameters& /*own*/) const {
    return write_activation(writer, activation, x);
  }
};

template <class T>
class ActivationLayer final : public Layer<T> {
 public:
  ActivationLayer(const ActivationSettings& settings, const Volume& in)
      : Layer<T>(in, in), activation_(settings.activation), outputs_(room_for<T>(in)), back_(room_for<T>(in)) {}
  bool rectifies() const override {
    return activation_ == Activation::relu || activation_ == Activation::leaky_relu;
  }
  const T* forward(const T* in) override {
    std::copy_n(in, this->in().size(), outputs_.data());
    apply(activation_, outputs_.data(), this->in().size());
    return outputs_.data();
  }
  const T* backward(const T* delta, T* /*gradient*/, bool wanted) override {
    if (!wanted) return nullptr;
    std::copy_n(delta, this->in().size(), back_.data());
    apply_derivative(activation_, outputs_.data(), back_.data(), this->in().size());
    return back_.data();
  }

 private:
  Activation activation_;
  AlignedVector<T> outputs_, back_;
};

constexpr double gelu_a = 0.79788456080286535588, gelu_b = 0.044715;  // sqrt(2 / pi)

struct GeluSettings {
  Volume out(const Volume& in) const { return in; }
  // Its steepest slope is 1.12899, near x = 1.42.
  SlopeBound slope_bound(const Volume& /*in*/, double /*radius*/) const { return {.factor = 1.13}; }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& /*in*/,
                           const LayerParameters& /*own*/) const {
    const auto times = [&](const ScoreWriter::Value& a, const ScoreWriter::Value& b) {
      return writer.pair(PairFunction::product, a, b);
    };
    const auto plus = [&](const ScoreWriter::Value& a, const ScoreWriter::Value& b) {
      return writer.pair(PairFunction::sum, a, b);
    };
    const ScoreWriter::Value cube = times(times(x, x), x);
    const ScoreWriter::Value inside =
        times(writer.number("a", gelu_a), plus(x, times(writer.number("b", gelu_b), cube)));
    const ScoreWriter::Value twice =
        times(x, plus(writer.number("one", 1), writer.function(NumberFunction::tanh, inside)));
    return times(writer.number("half", 0.5), twice);
  }
};

/// x (1 + tanh(a (x + b x^3))) / 2, the usual approximation of x P(normal <= x) (Hendrycks and Gimpel 2016).
template <class T>
class GeluLayer final : public Layer<T> {
 public:
  GeluLayer(const GeluSettings& /*settings*/, const Volume& in)
      : Layer<T>(in, in), tanh_(room_for<T>(in)), outputs_(room_for<T>(in)), back_(room_for<T>(in)) {}
  bool rectifies() const override { return true; }
  const T* forward(const T* in) override {
    in_values_ = in;
    for (std::size_t j = 0; j < this->in().size(); ++j) {
      const T x = in[j];
      tanh_[j] = elementary::tanh(a * (x + b * x * x * x));
      outputs_[j] = T(0.5) * x * (T(1) + tanh_[j]);
    }
    return outputs_.data();
  }
  const T* backward(const T* delta, T* /*gradient*/, bool wanted) override {
    if (!wanted) return nullptr;
    for (std::size_t j = 0; j < this->in().size(); ++j) {
      const T x = in_values_[j], t = tanh_[j];
      const T slope = a * (T(1) + T(3) * b * x * x);
      back_[j] = delta[j] * T(0.5) * (T(1) + t + x * (T(1) - t) * (T(1) + t) * slope);
    }
    return back_.data();
  }

 private:
  static constexpr T a = T(gelu_a), b = T(gelu_b);
  AlignedVector<T> tanh_, outputs_, back_;
  const T* in_values_ = nullptr;
};

template <Activation activation>
std::shared_ptr<const LayerPlan> read_activation(LayerWords&) {
  return planned<ActivationLayer>(ActivationSettings{activation});
}

}  // namespace

std::vector<LayerKind> activation_kinds() {
  return {{"relu", "relu", read_activation<Activation::relu>},
          {"leaky_relu", "leaky_relu", read_activation<Activation::leaky_relu>},
          {"tanh", "tanh", read_activation<Activation::tanh>},
          {"softplus", "softplus", read_activation<Activation::softplus>},
          {"gelu", "gelu", [](LayerWords&) { return planned<GeluLayer>(GeluSettings{}); }}};
}

}  // namespace dpmpi
