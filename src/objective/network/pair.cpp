#include "objective/network/pair.hpp"

#include <algorithm>
#include <cmath>

#include "objective/network/activation.hpp"

namespace dpmpi {
namespace {

// Below this change of a sum the addition theorems are used, above it the difference itself has enough bits.
constexpr float small = 0.5F;

/// activation(s + d) - activation(s).
struct Tanh {
  /// tanh(s + d) - tanh(s) = tanh(d) (1 - tanh(s)^2) / (1 + tanh(s) tanh(d)).
  static float change(float s, float a, float d) {
    const float t = elementary::tanh(d), direct = elementary::tanh(s + d) - a;
    const float exact = t * ((1 - a) * (1 + a)) / (1 + a * t);
    return std::fabs(d) < small ? exact : direct;
  }
  static float slope(float a) { return (1 - a) * (1 + a); }
  static float slope_change(float a, float change) { return -(2 * a + change) * change; }
};

struct Softplus {
  /// With y the larger of the two sums, u = sigmoid(y) (1 - e^-|d|) < 0.4: the change is -log(1 - u) = log(1 + u /
  /// (1 - u)), with the sign of d.
  static float change(float s, float a, float d) {
    const float larger = d < 0 ? s : s + d;
    const float u = -elementary::sigmoid(larger) * elementary::expm1_nonpositive(-std::fabs(d));
    const bool near = std::fabs(d) < small;
    const float exact = std::copysign(elementary::log1p_unit(near ? u / (1 - u) : 0.0F), d);
    return near ? exact : elementary::softplus(s + d) - a;
  }
  /// sigmoid(s) = 1 - e^-a.
  static float slope(float a) { return -elementary::expm1_nonpositive(-a); }
  static float slope_change(float a, float change) {
    const float smaller = change < 0 ? a + change : a;
    const float size = -elementary::expm1_nonpositive(-std::fabs(change)) * elementary::exp_nonpositive(-smaller);
    return std::copysign(size, change);
  }
};

struct Relu {
  static float change(float s, float /*a*/, float d) {
    const float grown = s + d < 0 ? 0.0F : s + d, moved = d < -s ? -s : d;
    return s > 0 ? moved : grown;
  }
  static float slope(float a) { return a > 0 ? 1.0F : 0.0F; }
  static float slope_change(float a, float change) { return slope(a + change) - slope(a); }
};

/// leak s + (1 - leak) relu(s): both parts of a change have its sign, so nothing cancels.
struct LeakyRelu {
  static float change(float s, float a, float d) { return leak * d + (1 - leak) * Relu::change(s, a, d); }
  static float slope(float a) { return a > 0 ? 1.0F : leak; }
  static float slope_change(float a, float change) { return slope(a + change) - slope(a); }
};

/// Calls visit with the activation as a type.
template <class Visit>
void with_activation(Activation activation, Visit visit) {
  switch (activation) {
    case Activation::relu:
      return visit(Relu());
    case Activation::leaky_relu:
      return visit(LeakyRelu());
    case Activation::tanh:
      return visit(Tanh());
    case Activation::softplus:
      return visit(Softplus());
  }
}

/// Turns the changes d of the sums s into those of the levels a.
template <class Activation>
void change_levels(const float* __restrict s, const float* __restrict a, float* __restrict d, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) d[j] = Activation::change(s[j], a[j], d[j]);
}

/// From the gradients g by the levels, at v and of the change, to the deltas.
template <class Activation>
void differentiate(const float* __restrict a, const float* __restrict da, float* __restrict g, float* __restrict dg,
                   float* __restrict at_w, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    const float slope = Activation::slope(a[j]), slope_change = Activation::slope_change(a[j], da[j]);
    dg[j] = dg[j] * (slope + slope_change) + g[j] * slope_change;
    g[j] *= slope;
    at_w[j] = g[j] + dg[j];
  }
}

void add(const Scratch<float>& from, std::size_t n, Scratch<float>& to) {
  for (std::size_t j = 0; j < n; ++j) to.values[j] += from.values[j];
}

void multiply(const PackedMatrix<float>& right, const Scratch<float>& left, std::size_t rows, Scratch<float>& to) {
  right.multiply(left, rows, to);
}

std::size_t widest(const MlpShape& shape) {
  std::size_t width = 0;
  for (std::size_t l = 1; l <= shape.layers(); ++l) width = std::max(width, shape.width(l));
  return width;
}

}  // namespace

MlpPair::MlpPair(const MlpShape& shape, std::size_t rows)
    : shape_(shape), level_at_w_(rows, widest(shape)), product_(rows, widest(shape)), step_(shape.dim()) {
  for (std::size_t l = 0; l <= shape.layers(); ++l) {
    const Scratch<float> layer(l == 0 ? 0 : rows, shape.width(l));
    at_v_.push_back({layer, layer});
    change_.push_back({layer, layer});
    delta_at_w_.push_back(layer);
    if (l == shape.layers()) break;
    const PackedMatrix<float> back(l == 0 ? 0 : shape.outputs(l), round_up(shape.inputs(l), 16));
    for (auto* forward : {&forward_v_, &forward_step_}) forward->push_back(packed_layer<float>(shape, l));
    for (auto* backward : {&backward_v_, &backward_step_}) backward->push_back(back);
  }
}

void MlpPair::load(std::span<const float> w, std::span<const float> v) {
  for (std::size_t j = 0; j < step_.size(); ++j) step_[j] = w[j] - v[j];
  for (std::size_t l = 0; l < shape_.layers(); ++l) {
    pack_layer(shape_, l, v, forward_v_[l]);
    pack_layer(shape_, l, std::span<const float>(step_), forward_step_[l]);
    if (l == 0) continue;
    const std::size_t offset = shape_.weight_offset(l);
    backward_v_[l].set(v.data() + offset, shape_.outputs(l), shape_.inputs(l));
    backward_step_[l].set(step_.data() + offset, shape_.outputs(l), shape_.inputs(l));
  }
}

void MlpPair::forward(const Scratch<float>& input, std::size_t rows) {
  multiply(forward_v_[0], input, rows, level(1));
  multiply(forward_step_[0], input, rows, level_change(1));
  for (std::size_t l = 1; l < shape_.layers(); ++l) {
    activate(l, rows);
    product_.width = shape_.width(l + 1);
    multiply(forward_v_[l], level(l), rows, level(l + 1));
    multiply(forward_v_[l], level_change(l), rows, level_change(l + 1));
    multiply(forward_step_[l], level_at_w_, rows, product_);
    add(product_, rows * product_.width, level_change(l + 1));
  }
}

/// Turns the sums of level l at v and their change into the levels, with the constant, and forms level_at_w_.
void MlpPair::activate(std::size_t l, std::size_t rows) {
  Scratch<float>&a = level(l), &d = level_change(l);
  const std::size_t n = rows * a.width, units = shape_.units[l];
  float* s = product_.row(0);  // free between two products
  std::copy_n(a.row(0), n, s);
  apply(shape_.activation, a.row(0), n);
  with_activation(shape_.activation, [&](auto type) { change_levels<decltype(type)>(s, a.row(0), d.row(0), n); });
  for (std::size_t r = 0; r < rows; ++r) {
    a.row(r)[units] = shape_.bias(l);
    std::fill(a.row(r) + units + 1, a.row(r) + a.width, 0.0F);
    std::fill(d.row(r) + units, d.row(r) + d.width, 0.0F);
  }
  level_at_w_.width = a.width;
  for (std::size_t j = 0; j < n; ++j) level_at_w_.values[j] = a.values[j] + d.values[j];
}

void MlpPair::backward(std::size_t rows) {
  for (std::size_t l = shape_.layers() - 1; l > 0; --l) {
    Scratch<float>&g = delta_at_v(l), &dg = delta_change(l), &at_w = delta(l);
    product_.width = g.width;
    multiply(backward_v_[l], delta_at_v(l + 1), rows, g);
    multiply(backward_v_[l], delta_change(l + 1), rows, dg);
    multiply(backward_step_[l], delta(l + 1), rows, product_);
    const std::size_t n = rows * g.width;
    add(product_, n, dg);
    const float *a = level(l).row(0), *da = level_change(l).row(0);
    with_activation(shape_.activation,
                    [&](auto type) { differentiate<decltype(type)>(a, da, g.row(0), dg.row(0), at_w.row(0), n); });
    for (std::size_t r = 0; r < rows; ++r)
      for (Scratch<float>* delta : {&g, &dg, &at_w})
        std::fill(delta->row(r) + shape_.units[l], delta->row(r) + delta->width, 0.0F);
  }
}

}  // namespace dpmpi
