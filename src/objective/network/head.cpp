#include "objective/network/head.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "objective/math/weighted_loss.hpp"
#include "objective/network/activation.hpp"

namespace dpmpi {
namespace {

std::unique_ptr<ScalarLoss> unweighted_loss_of(Head head) {
  switch (head) {
    case Head::softmax:
      return nullptr;
    case Head::logistic:
      return logistic_loss();
    case Head::squared:
      return squared_loss();
    case Head::absolute:
      return absolute_loss();
    case Head::ramp:
      return ramp_loss();
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<ScalarLoss> scalar_loss_of(Head head, const ClassWeights& weights) {
  auto loss = unweighted_loss_of(head);
  return loss && !weights.empty() ? weighted_loss(std::move(loss), weights[0], weights[1]) : std::move(loss);
}

template <class T>
bool MlpHead::valid(const T* outputs, float label) const {
  bool finite = std::isfinite(label);
  for (std::size_t k = 0; k < outputs_; ++k) finite = finite && std::isfinite(outputs[k]);
  if (head_ != Head::softmax) return finite;
  return finite && label >= 0 && label < static_cast<float>(outputs_);
}

template <class T>
std::size_t MlpHead::exponentiate(const T* outputs) {
  const auto top = static_cast<std::size_t>(std::max_element(outputs, outputs + outputs_) - outputs);
  const double largest = outputs[top];
  double* e = exponential_.data();
  for (std::size_t k = 0; k < outputs_; ++k)
    e[k] = elementary::exp_nonpositive(static_cast<double>(outputs[k]) - largest);
  return top;
}

template <class T>
double MlpHead::loss(const T* outputs, float label) {
  const double plain = unweighted_loss(outputs, label);
  return weights_.empty() ? plain : weights_.of(labels_of(head_), label) * plain;
}

template <class T>
double MlpHead::unweighted_loss(const T* outputs, float label) {
  if (!valid(outputs, label)) return std::numeric_limits<double>::quiet_NaN();
  const double s = outputs[0];
  if (head_ == Head::logistic) return elementary::softplus(-static_cast<double>(label) * s);
  if (head_ == Head::absolute) return std::fabs(s - static_cast<double>(label));
  if (head_ == Head::ramp) return std::clamp(1 - static_cast<double>(label) * s, 0.0, 1.0);
  if (head_ == Head::squared) return 0.5 * (s - static_cast<double>(label)) * (s - static_cast<double>(label));
  const std::size_t top = exponentiate(outputs);
  double others = 0;
  for (std::size_t k = 0; k < outputs_; ++k)
    if (k != top) others += exponential_[k];
  const double gap =
      static_cast<double>(outputs[top]) - static_cast<double>(outputs[static_cast<std::size_t>(label)]);
  return std::log1p(others) + gap;
}

void MlpHead::gradient(const double* outputs, float label, std::span<const float> /*tail*/, double* delta,
                       double* /*slope*/) {
  if (!valid(outputs, label)) {
    std::fill_n(delta, outputs_, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const double s = outputs[0], y = label;
  if (head_ == Head::logistic) {
    delta[0] = -y * elementary::sigmoid(-y * s);
  } else if (head_ == Head::squared) {
    delta[0] = s - y;
  } else if (head_ == Head::absolute) {  // 0 at the kink
    delta[0] = (s > y) - (s < y);
  } else if (head_ == Head::ramp) {
    delta[0] = y * s > 0 && y * s < 1 ? -y : 0.0;
  } else {
    exponentiate(outputs);
    double total = 0;
    for (std::size_t k = 0; k < outputs_; ++k) total += exponential_[k];
    const double inverse = 1 / total;
    const auto own = static_cast<std::size_t>(label);
    for (std::size_t k = 0; k < outputs_; ++k) delta[k] = exponential_[k] * inverse - (k == own ? 1.0 : 0.0);
  }
  if (weights_.empty()) return;
  const double weight = weights_.of(labels_of(head_), label);
  for (std::size_t k = 0; k < outputs_; ++k) delta[k] *= weight;
}

template double MlpHead::loss(const float*, float);
template double MlpHead::loss(const double*, float);

}  // namespace dpmpi
