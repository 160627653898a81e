#pragma once
// A multilayer perceptron written record by record in plain double loops, with its gradient by back-propagation.

#include <algorithm>
#include <cmath>

#include "objective/network/shape.hpp"
#include "objective/objective_property.hpp"

namespace dpmpi::test {

class MlpReference {
 public:
  MlpReference(const MlpShape& shape, const Records& records) : shape_(shape), records_(records) {}

  Reference functions() const {
    return {
        .loss = [this](std::size_t i, std::span<const double> w) { return loss(i, w); },
        .gradient = [this](std::size_t i, std::span<const double> w, std::span<double> g) { gradient(i, w, g); }};
  }

  double weight(std::size_t i) const { return shape_.class_weights.of(labels_of(shape_.head), records_.label[i]); }

  double loss(std::size_t i, std::span<const double> w) const { return weight(i) * unweighted_loss(i, w); }

  double unweighted_loss(std::size_t i, std::span<const double> w) const {
    const std::vector<double> s = levels(i, w).back();
    const double y = records_.label[i];
    if (shape_.head == Head::logistic) return std::log1p(std::exp(-y * s[0]));
    if (shape_.head == Head::absolute) return std::abs(s[0] - y);
    if (shape_.head == Head::ramp) return std::min(1.0, std::max(0.0, 1 - y * s[0]));
    if (shape_.head == Head::squared) return 0.5 * (s[0] - y) * (s[0] - y);
    double total = 0;
    for (double v : s) total += std::exp(v);
    return std::log(total) - s[static_cast<std::size_t>(y)];
  }

  void gradient(std::size_t i, std::span<const double> w, std::span<double> g) const {
    const auto level = levels(i, w);
    std::vector<double> delta = output_delta(level.back(), records_.label[i]);
    for (double& d : delta) d *= weight(i);
    gradient_from(level, delta, w, g);
  }

  /// deltas[l]: the gradient by the sums of level l + 1, given that by the outputs.
  std::vector<std::vector<double>> deltas(const std::vector<std::vector<double>>& level, std::vector<double> delta,
                                          std::span<const double> w) const {
    std::vector<std::vector<double>> all(shape_.layers());
    for (std::size_t l = shape_.layers(); l-- > 0;) {
      all[l] = delta;
      std::vector<double> below(shape_.inputs(l), 0.0);
      for (std::size_t o = 0; o < shape_.outputs(l); ++o)
        for (std::size_t j = 0; j < below.size(); ++j)
          below[j] += delta[o] * w[shape_.weight_offset(l) + o * below.size() + j];
      if (l > 0)
        for (std::size_t j = 0; j < below.size(); ++j) below[j] *= slope(level[l][j]);
      delta = below;
    }
    return all;
  }

  /// The gradient by the weights from that by the outputs.
  void gradient_from(const std::vector<std::vector<double>>& level, const std::vector<double>& output,
                     std::span<const double> w, std::span<double> g) const {
    const auto delta = deltas(level, output, w);
    for (std::size_t l = 0; l < shape_.layers(); ++l) {
      const std::size_t in = shape_.inputs(l), matrix = shape_.weight_offset(l), bias = shape_.bias_offset(l);
      for (std::size_t o = 0; o < shape_.outputs(l); ++o) {
        for (std::size_t j = 0; j < in; ++j) g[matrix + o * in + j] = delta[l][o] * level[l][j];
        if (shape_.has_bias(l)) g[bias + o] = delta[l][o] * shape_.bias(l);
      }
    }
  }

  /// Level 0 (features) .. layers() (outputs), without the constants.
  std::vector<std::vector<double>> levels(std::size_t i, std::span<const double> w) const {
    std::vector<double> input;
    for (std::size_t j = 0; j < shape_.features(); ++j)
      if (j != shape_.left_out) input.push_back(feature(records_, i, j));
    return levels(input, w);
  }
  std::vector<std::vector<double>> levels(const std::vector<double>& input, std::span<const double> w) const {
    std::vector<std::vector<double>> level{input};
    for (std::size_t l = 0; l < shape_.layers(); ++l) {
      level.emplace_back();
      for (std::size_t o = 0; o < shape_.outputs(l); ++o) {
        double s = shape_.has_bias(l) ? shape_.bias(l) * w[shape_.bias_offset(l) + o] : 0.0;
        for (std::size_t j = 0; j < shape_.inputs(l); ++j)
          s += w[shape_.weight_offset(l) + o * shape_.inputs(l) + j] * level[l][j];
        level.back().push_back(l + 1 < shape_.layers() ? activation(s) : s);
      }
    }
    return level;
  }

 private:
  std::vector<double> output_delta(const std::vector<double>& s, double y) const {
    if (shape_.head == Head::logistic) return {-y / (1 + std::exp(y * s[0]))};
    if (shape_.head == Head::squared) return {s[0] - y};
    if (shape_.head == Head::absolute) return {s[0] > y ? 1.0 : -1.0};
    if (shape_.head == Head::ramp) return {y * s[0] > 0 && y * s[0] < 1 ? -y : 0.0};
    double total = 0;
    for (double v : s) total += std::exp(v);
    std::vector<double> delta;
    for (double v : s) delta.push_back(std::exp(v) / total);
    delta[static_cast<std::size_t>(y)] -= 1;
    return delta;
  }

  double activation(double s) const {
    if (shape_.activation == Activation::relu) return std::max(0.0, s);
    if (shape_.activation == Activation::leaky_relu) return s > 0 ? s : static_cast<double>(leak) * s;
    return shape_.activation == Activation::tanh ? std::tanh(s) : std::log1p(std::exp(s));
  }

  /// activation' written in a = activation(s).
  double slope(double a) const {
    if (shape_.activation == Activation::relu) return a > 0 ? 1 : 0;
    if (shape_.activation == Activation::leaky_relu) return a > 0 ? 1 : static_cast<double>(leak);
    return shape_.activation == Activation::tanh ? 1 - a * a : 1 - std::exp(-a);
  }

  const MlpShape& shape_;
  const Records& records_;
};

}  // namespace dpmpi::test
