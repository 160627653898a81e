#include "objective/td/value_network.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/errors.hpp"
#include "objective/math/dot.hpp"

namespace dpmpi {
namespace {

// Inputs and weights are about 1. Then the fourth power of the step is some 10^4 roundings, and so is what one
// rounding becomes over it.
constexpr double curvature_step = 1e-3;

}  // namespace

ValueNetwork::ValueNetwork(const LayeredShape& shape)
    : here_(shape), theta_(here_.dim()), omega_(here_.dim()), moved_(here_.dim()) {
  for (const auto& [place, part] : {std::array{-2.0, 1.0}, {-1.0, -8.0}, {1.0, 8.0}, {2.0, -1.0}})
    displaced_.push_back({place, part / (12 * curvature_step), RecordPass<double>(shape)});
}

void ValueNetwork::load(std::span<const float> w) {
  verify(w.size() == 2 * dim(), "a point has theta and omega");
  std::ranges::copy(w.first(dim()), theta_.begin());
  std::ranges::copy(w.subspan(dim()), omega_.begin());
  here_.load(theta_);
  length_ = std::sqrt(squared_norm(omega_.data(), dim()));
  if (length_ == 0) return;
  for (Displaced& at : displaced_) {
    const double along = at.place * curvature_step / length_;
    for (std::size_t j = 0; j < dim(); ++j) moved_[j] = theta_[j] + along * omega_[j];
    at.pass.load(moved_);
  }
}

double ValueNetwork::differentiate(RecordPass<double>& pass, const double* state) {
  constexpr double one[] = {1};
  const double value = pass.forward(state)[0];
  pass.backward(one);
  return value;
}

void ValueNetwork::add_curvature(const double* state, double factor, std::span<double> to) {
  if (length_ == 0) return;
  for (Displaced& at : displaced_) {
    differentiate(at.pass, state);
    add_scaled(factor * length_ * at.part, at.pass.gradient().data(), to.data(), dim());
  }
}

}  // namespace dpmpi
