#include "objective/td/point.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "objective/math/dot.hpp"
#include "objective/network/activation.hpp"

namespace dpmpi {

TdPoint::TdPoint(const MlpShape& shape)
    : shape_(shape),
      units_(shape.units[1]),
      theta_{{units_, shape.width(0)}, AlignedVector<double>(shape.width(1))},
      omega_(theta_) {}

template <class T>
void TdPoint::load(std::span<const T> w) {
  verify(w.size() == 2 * shape_.dim(), "a point has dim() coordinates");
  unpack(w.first(shape_.dim()), theta_);
  unpack(w.subspan(shape_.dim()), omega_);
}

template <class T>
void TdPoint::unpack(std::span<const T> parameters, Network& network) const {
  const std::size_t inputs = shape_.inputs(0);
  for (std::size_t i = 0; i < units_; ++i) {
    double* row = network.first.row(i);
    std::copy_n(parameters.begin() + static_cast<std::ptrdiff_t>(i * inputs), inputs, row);
    if (shape_.has_bias(0)) row[inputs] = static_cast<double>(parameters[shape_.bias_offset(0) + i]);
  }
  if (shape_.layers() == 1) return;
  const auto second = parameters.subspan(shape_.weight_offset(1));
  std::copy(second.begin(), second.end(), network.second.begin());
}

template void TdPoint::load(std::span<const float>);
template void TdPoint::load(std::span<const double>);

void TdPoint::evaluate(const Transition& t, TdTerms& terms) const {
  if (shape_.layers() == 1) return evaluate_linear(t, terms);
  const std::size_t width = shape_.width(0);
  const AlignedVector<double>&w2 = theta_.second, &o2 = omega_.second;

  // Forward at s and s'. Until e is known, P, Q and the output hold what they are made of.
  double value = w2[units_], next_value = w2[units_], dual = o2[units_];
  for (std::size_t i = 0; i < units_; ++i) {
    const double h = elementary::tanh(dot(theta_.first.row(i), t.state, width));
    const double next_h = elementary::tanh(dot(theta_.first.row(i), t.next, width));
    const double slope = (1 - h) * (1 + h), v = dot(omega_.first.row(i), t.state, width);
    value += w2[i] * h;
    next_value += w2[i] * next_h;
    dual += w2[i] * slope * v + o2[i] * h;
    terms.level[i] = h;
    terms.slope[i] = w2[i] * slope;
    terms.next[i] = next_h;
    terms.state[i] = slope * (o2[i] - 2 * w2[i] * h * v);  // Hess V(s) omega, first layer
    terms.output[i] = slope * v;                           // and second
  }
  terms.level[units_] = 1;
  terms.value = value;
  terms.error = t.reward + t.discount * next_value - value;
  terms.dual = dual;

  const double e = dual, rest = terms.error - dual;
  for (std::size_t i = 0; i < units_; ++i) {
    const double next_h = terms.next[i];
    terms.next[i] = e * t.discount * (w2[i] * (1 - next_h) * (1 + next_h));
    terms.state[i] = rest * terms.state[i] - e * terms.slope[i];
    terms.output[i] = e * (t.discount * next_h - terms.level[i]) + rest * terms.output[i];
  }
  terms.output[units_] = e * (t.discount - 1);
}

/// V = <theta, s>: Psi(s) = s, and no Hessian.
void TdPoint::evaluate_linear(const Transition& t, TdTerms& terms) const {
  const std::size_t width = shape_.width(0);
  terms.value = dot(theta_.first.row(0), t.state, width);
  terms.error = t.reward + t.discount * dot(theta_.first.row(0), t.next, width) - terms.value;
  terms.dual = dot(omega_.first.row(0), t.state, width);
  terms.next[0] = terms.dual * t.discount;
  terms.state[0] = -terms.dual;
  terms.slope[0] = 1;
}

}  // namespace dpmpi
